// A scripted answer and a verdict with Go's own test runner: mockllm run -- go test ./...
package weather

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
)

func send(t *testing.T, method, url, key, body string) map[string]any {
	t.Helper()
	request, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+key)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	if response.StatusCode >= 400 {
		t.Fatalf("%s %s: %s", method, url, text)
	}
	var answer map[string]any
	if err := json.Unmarshal(text, &answer); err != nil {
		t.Fatal(err)
	}
	return answer
}

func TestWeather(t *testing.T) {
	key, control := t.Name(), os.Getenv("MOCKLLM_URL")+"/control"
	// The API key is the session: what one test scripts, no other one sees.
	send(t, "PUT", control+"/scenarios/weather?session="+key, "", `{"name": "weather", "steps": [
		{"match": {"messages": [{"contains": "weather"}]}, "produce": {"text": "Sunny."}}]}`)
	answer := send(t, "POST", os.Getenv("OPENAI_BASE_URL")+"/chat/completions", key,
		`{"model": "gpt-4o", "messages": [{"role": "user", "content": "How is the weather?"}]}`)
	choice := answer["choices"].([]any)[0].(map[string]any)
	if content := choice["message"].(map[string]any)["content"]; content != "Sunny." {
		t.Errorf("the model said %q", content)
	}
	if verdict := send(t, "GET", control+"/verdict?session="+key, "", ""); verdict["passed"] != true {
		t.Error(verdict["text"])
	}
}

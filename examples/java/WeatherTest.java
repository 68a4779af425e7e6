// A scripted answer and a verdict with JUnit 5: mockllm run -- mvn test
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;

class WeatherTest {
    private final HttpClient http =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private final String control = System.getenv("MOCKLLM_URL") + "/control";
    private String key;

    @BeforeEach
    void name(TestInfo test) {
        // The API key is the session: what one test scripts, no other one sees.
        key = "java-" + test.getTestMethod().orElseThrow().getName();
    }

    @AfterEach
    void judge() throws Exception {
        String verdict = send("GET", control + "/verdict?session=" + key, "");
        assertTrue(verdict.contains("\"passed\":true"), verdict);
    }

    @Test
    void theWeatherIsTold() throws Exception {
        send("PUT", control + "/scenarios/weather?session=" + key, """
                {"name": "weather", "steps": [{"match": {"messages": [{"contains": "weather"}]},
                                               "produce": {"text": "Sunny."}}]}""");
        String answer = send("POST", System.getenv("OPENAI_BASE_URL") + "/chat/completions", """
                {"model": "gpt-4o", "messages": [{"role": "user", "content": "The weather?"}]}""");
        assertTrue(answer.contains("\"content\":\"Sunny.\""), answer);
    }

    private String send(String method, String url, String body) throws Exception {
        var request = HttpRequest.newBuilder(URI.create(url))
                .method(method, BodyPublishers.ofString(body))
                .header("Content-Type", "application/json")
                .header("Authorization", "Bearer " + key)
                .build();
        var response = http.send(request, BodyHandlers.ofString());
        assertEquals(2, response.statusCode() / 100, response.body());
        return response.body();
    }
}

// The docs page: the OpenAPI document, drawn by the files of the sidecar package alone.
const page = document.getElementById("api");

// Whoever is logged in has to send it with what changes something.
function withCsrfToken(request) {
  const found = document.cookie.match(/(?:^|; )csrftoken=([^;]+)/);
  if (found && new URL(request.url, location.href).origin === location.origin) {
    request.headers["X-CSRFToken"] = found[1];
  }
  return request;
}

window.SwaggerUIBundle({
  url: page.dataset.schema,
  domNode: page,
  deepLinking: true,
  // Its default asks another host whether the document is valid.
  validatorUrl: null,
  tryItOutEnabled: true,
  requestInterceptor: withCsrfToken,
});

// The docs page: the OpenAPI document, drawn by the files of the sidecar package alone.
const page = document.getElementById("api");

window.SwaggerUIBundle({
  url: page.dataset.schema,
  domNode: page,
  deepLinking: true,
  // Its default asks another host whether the document is valid.
  validatorUrl: null,
  tryItOutEnabled: true,
});

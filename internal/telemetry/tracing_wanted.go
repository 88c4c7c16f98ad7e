package telemetry

import (
	"os"
	"strings"
)

// TracingEndpoints are the variables of OpenTelemetry that enable tracing.
var TracingEndpoints = []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"}

// tracingWanted reports whether an endpoint is named, here or by the variables.
func tracingWanted(endpoint string) bool {
	if strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") || os.Getenv("OTEL_TRACES_EXPORTER") == "none" {
		return false
	}
	for _, name := range TracingEndpoints {
		endpoint += os.Getenv(name)
	}
	return endpoint != ""
}

package client_test

import (
	"fmt"
	"io"
	"log"
	"net/http"

	"atlas/client"
)

// A receiver of webhooks: it checks the signature, keeps the event, and answers. seen has
// the ids of the events that were handled, because an event may come twice.
func ExampleReadWebhook() {
	secret := "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" // from Webhooks.Upsert
	seen := map[string]bool{}
	handler := func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err != nil {
			http.Error(w, "the body", http.StatusBadRequest)
			return
		}
		event, err := client.ReadWebhook(secret, r.Header, body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusUnauthorized)
			return
		}
		if !seen[event.ID] {
			log.Printf("%s: %s", event.Type, event.Data)
			seen[event.ID] = true
		}
		w.WriteHeader(http.StatusNoContent)
	}
	_ = http.HandlerFunc(handler)
	fmt.Println("listening")
	// Output: listening
}

package server

import "testing"

func TestReadyAddress(t *testing.T) {
	t.Parallel()
	for listen, want := range map[string]string{
		"127.0.0.1:8080": "http://127.0.0.1:8080", "0.0.0.0:80": "http://127.0.0.1:80", ":80": "http://127.0.0.1:80",
		"[::]:80": "http://[::1]:80", "atlas.example:80": "http://atlas.example:80",
	} {
		if got := (&Ready{Listen: listen}).address(); got != want {
			t.Errorf("%s is asked at %s, want %s", listen, got, want)
		}
	}
}

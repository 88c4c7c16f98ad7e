package elastic_test

import (
	"strings"
	"testing"

	"atlas/internal/elastic"
)

func TestConfigRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]elastic.Config{
		"no address":      {},
		"no URL":          {Addresses: []string{"localhost:9200"}},
		"another scheme":  {Addresses: []string{"http://a:9200", "ftp://user:s3cret@a:9200"}},
		"a broken URL":    {Addresses: []string{"http://user:s3cret@a:port"}},
		"no host":         {Addresses: []string{"http://"}},
		"no certificates": {Addresses: []string{"https://a:9200"}, CACert: []byte("none in here")},
	} {
		if _, err := elastic.New(c); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

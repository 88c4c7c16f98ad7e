package rig

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"

	"atlas/internal/devstack"
)

// Proxy is a proxy between Atlas and a backend that injects faults, the same on the ways
// to all of its servers. A fault applies to open and to new connections. It is for one
// goroutine at a time.
type Proxy struct {
	// Settings is the environment of a server that uses the proxy.
	Settings []string
	proxies  []*toxiproxy.Proxy // one for each server
}

// Proxy starts a proxy in front of a backend. It forwards everything until a fault
// is set. Redis under Sentinels has none: they tell clients its own address.
func (r *Rig) Proxy(b devstack.Backend) *Proxy {
	r.t.Helper()
	if b == devstack.Redis && r.replicated {
		r.t.Fatal("Sentinels give the servers of Atlas the address of Redis, which is no proxy's")
	}
	hosts := map[devstack.Backend][]string{devstack.Elasticsearch: r.Elasticsearch, devstack.Postgres: {r.app}, devstack.Redis: {r.redisDB}}[b]
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	p := &Proxy{}
	var replaced []string
	for _, address := range hosts {
		u, err := url.Parse(address)
		Check(r.t, err)
		for host := range strings.SplitSeq(u.Host, ",") {
			one := toxiproxy.NewProxy(server, string(b)+" "+host, "127.0.0.1:0", host)
			Check(r.t, one.Start())
			r.t.Cleanup(one.Stop)
			p.proxies = append(p.proxies, one)
			replaced = append(replaced, host, one.Listen)
		}
	}
	through := strings.NewReplacer(replaced...).Replace
	switch b {
	case devstack.Elasticsearch:
		p.Settings = []string{"ATLAS_ELASTICSEARCH_URL=" + through(strings.Join(r.Elasticsearch, ","))}
	case devstack.Postgres:
		p.Settings = []string{"ATLAS_POSTGRES_URL=" + through(r.app), "ATLAS_POSTGRES_SYSTEM_URL=" + through(r.system)}
	case devstack.Redis:
		p.Settings = []string{"ATLAS_REDIS_URL=" + through(r.redisDB)}
	}
	return p
}

// Delay delays every piece of an answer, by latency plus or minus jitter.
func (p *Proxy) Delay(milliseconds, jitter int) error {
	return p.addToxic("downstream", "latency", map[string]int{"latency": milliseconds, "jitter": jitter})
}

// DelayRequests delays every piece of a request, by latency plus or minus jitter.
// The piece arrives even if its sender has given up meanwhile, or was killed.
func (p *Proxy) DelayRequests(milliseconds, jitter int) error {
	return p.addToxic("upstream", "latency", map[string]int{"latency": milliseconds, "jitter": jitter})
}

// Trickle lets answers through in pieces of a few bytes, with a pause after each.
func (p *Proxy) Trickle(bytes, pauseMicroseconds int) error {
	return p.addToxic("downstream", "slicer", map[string]int{
		"average_size": bytes, "size_variation": max(bytes/2, 1), "delay": pauseMicroseconds,
	})
}

// BlackHole swallows answers; connections stay open.
func (p *Proxy) BlackHole() error {
	return p.addToxic("downstream", "timeout", map[string]int{"timeout": 0})
}

// Truncate closes a connection after this many bytes of answers.
func (p *Proxy) Truncate(bytes int) error {
	return p.addToxic("downstream", "limit_data", map[string]int{"bytes": bytes})
}

// Reset answers with a TCP reset.
func (p *Proxy) Reset() error {
	return p.addToxic("downstream", "reset_peer", map[string]int{"timeout": 0})
}

// Cut closes all connections, and refuses new ones until Heal.
func (p *Proxy) Cut() {
	for _, one := range p.proxies {
		one.Stop()
	}
}

// Heal ends all faults.
func (p *Proxy) Heal() error {
	var errs []error
	for _, one := range p.proxies {
		one.Toxics.ResetToxics(context.Background())
		if !one.Enabled {
			errs = append(errs, one.Start()) // on the same address as before
		}
	}
	return errors.Join(errs...)
}

func (p *Proxy) addToxic(stream, kind string, attributes map[string]int) error {
	toxic, err := json.Marshal(map[string]any{"type": kind, "stream": stream, "attributes": attributes})
	if err != nil {
		return err
	}
	for _, one := range p.proxies {
		if _, err := one.Toxics.AddToxicJson(strings.NewReader(string(toxic))); err != nil {
			return fmt.Errorf("toxiproxy: %s: %w", kind, err)
		}
	}
	return nil
}

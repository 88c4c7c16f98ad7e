package workspace

import (
	"context"
	"net/netip"
)

// Origin is where a change comes from, for the audit log: a request, and the network of its
// client. The zero value is no request.
type Origin struct {
	// Network is a /24 of IPv4 or a /48 of IPv6; not valid if the client is not known.
	Network netip.Prefix
	Request string
}

// OriginOf returns the origin of a request with an id, from a client address.
func OriginOf(client netip.Addr, request string) Origin {
	bits := 24
	if client.Is6() {
		bits = 48
	}
	network, err := client.Prefix(bits)
	if err != nil {
		network = netip.Prefix{} // not an address
	}
	return Origin{network, request}
}

// Text is the network, or "-", and the id of the request; "" for the zero value.
func (o Origin) Text() string {
	switch {
	case o == Origin{}:
		return ""
	case !o.Network.IsValid():
		return "- " + o.Request
	}
	return o.Network.String() + " " + o.Request
}

type originKey struct{}

// WithOrigin returns a context whose changes come from o.
func WithOrigin(ctx context.Context, o Origin) context.Context {
	return context.WithValue(ctx, originKey{}, o)
}

// OriginIn returns the origin of the changes of a context.
func OriginIn(ctx context.Context) Origin {
	o, _ := ctx.Value(originKey{}).(Origin)
	return o
}

package endpoint

import (
	"net/netip"
	"time"
)

// class is a group of addresses without a key, with limits of its own, so that no class can
// block another.
type class uint8

// The classes.
const (
	ClassSignIn class = iota
	ClassUnsubscribe
	// ClassErasure are links by which people have a contact erased.
	ClassErasure
	// ClassErasureForm is where people ask for such a link.
	ClassErasureForm
	// ClassSCIM are identity providers, whose tokens have limits of their own too.
	ClassSCIM
	ClassDocuments
	// ClassTiles are ranges of the map's archive, by their length.
	ClassTiles
	// classProbes are health requests from anywhere, and classBalancers those of client.near:
	// strangers must not be able to make a balancer's own probes fail.
	classProbes
	classBalancers
	// classUnknown are addresses and methods that do not exist.
	classUnknown
	classes // how many
)

// Pace is the rate of a token bucket per second, and its burst.
type Pace struct{ PerSecond, Burst int }

// classLimits are the limits of a class. docs/operators.md, "Limits without a key", has the
// figures.
type classLimits struct {
	of string // for messages: "too many …"
	// address limits one client, zero: no limit. sum limits all of them.
	address, sum Pace
	// ofAddress limits the requests in progress of one client, places those of all.
	ofAddress, places int64
}

var limitsOf = [classes]classLimits{
	ClassSignIn:      {"requests to sign in", Pace{20, 100}, Pace{200, 400}, 64, 128},
	ClassUnsubscribe: {"requests to unsubscribe", Pace{20, 100}, Pace{200, 400}, 64, 128},
	ClassErasure:     {"requests of links to erase", Pace{10, 50}, Pace{100, 200}, 32, 64},
	ClassErasureForm: {"requests for links to erase", Pace{2, 20}, Pace{50, 100}, 8, 32},
	ClassSCIM:        {"requests of SCIM", Pace{50, 200}, Pace{400, 800}, 32, 64},
	ClassDocuments:   {"requests for documents", Pace{200, 1_000}, Pace{1_000, 2_000}, 64, 512},
	ClassTiles:       {"requests for map tiles", Pace{200, 1_000}, Pace{1_000, 4_000}, 64, 256},
	classProbes:      {"requests of health", Pace{20, 50}, Pace{200, 400}, 32, 256},
	classBalancers:   {"requests of health", Pace{}, Pace{1_000, 200}, 1_024, 1_024},
	classUnknown:     {"requests of addresses that do not exist", Pace{50, 200}, Pace{500, 1_000}, 32, 128},
}

const (
	// patience is how long a request waits for a token. One that would wait longer is refused
	// only after that time: an immediate retry gains nothing.
	patience = time.Second
	// strangerBody is the time limit for the body of a request without a key. Headers have the
	// limit of all requests.
	strangerBody = 5 * time.Second
	// MaxAddresses limits the remembered addresses. Beyond it the least recently seen are
	// dropped; the sum of the class still holds.
	MaxAddresses = 20_000
)

// clientOfClass is the owner of buckets and places.
type clientOfClass struct {
	class   class
	network netip.Prefix
}

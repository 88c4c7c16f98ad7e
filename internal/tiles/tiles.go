// Package tiles has the source of streets for the Explorer's map, if the operator
// configures one (docs/deploy.md, "Streets on the map"): an origin of vector tiles, from
// which only browsers fetch, or a PMTiles archive, of which the service serves ranges. It
// reads no tiles, and is not for what is drawn on the map.
package tiles

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxAttribution is in characters.
const maxAttribution = 200

// Source is where the tiles are. The zero value is none.
type Source struct {
	// Template is the address of a tile, with {z}, {x} and {y}; "" with an Archive.
	Template string
	// Archive is a file of tiles, or nil.
	Archive *Archive
	// Attribution is shown on the map.
	Attribution string
}

// Origin is that of the Template, for the Content-Security-Policy of the page; "" without
// one.
func (s Source) Origin() string {
	if s.Template == "" {
		return ""
	}
	u, err := url.Parse(s.Template)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// Open reads the setting: an address that begins with https://, or the path of a PMTiles
// archive, which stays open. "" is no source.
func Open(setting, attribution string) (Source, error) {
	s := Source{Attribution: attribution}
	if err := checkAttribution(attribution); err != nil {
		return Source{}, err
	}
	switch scheme, _, address := strings.Cut(setting, "://"); {
	case setting == "":
		return Source{}, nil
	case address && scheme != "https":
		return Source{}, fmt.Errorf("%.100q is no address of https; give https://HOST/…/{z}/{x}/{y}.pbf or the path of a .pmtiles file", setting)
	case address:
		s.Template = setting
		return s, checkTemplate(setting)
	}
	archive, err := OpenArchive(setting)
	s.Archive = archive
	return s, err
}

func checkAttribution(text string) error {
	if !utf8.ValidString(text) || utf8.RuneCountInString(text) > maxAttribution || strings.ContainsFunc(text, unicode.IsControl) {
		return fmt.Errorf("the attribution must be one line of at most %d characters", maxAttribution)
	}
	return nil
}

// host is a name or an IPv4 address with an optional port: nothing that ends a source of a
// Content-Security-Policy or stands for several hosts.
var host = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*(:[0-9]{1,5})?$`)

// checkTemplate checks a template of tile addresses. The part before the path goes into a
// header of the page.
func checkTemplate(template string) error {
	u, err := url.Parse(template)
	switch {
	case err != nil:
		return fmt.Errorf("%.100q cannot be read as an address", template)
	case u.User != nil || u.Fragment != "" || strings.Contains(template, "#"):
		return errors.New("the address must have no user and no fragment")
	case !host.MatchString(u.Host):
		return fmt.Errorf("the host %.100q must be one name in lower case, such as tiles.example.com", u.Host)
	case strings.ContainsFunc(template, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`"'\<>`, r) }):
		return errors.New("the address must have no blanks, quotes and characters beyond ASCII")
	}
	for _, name := range []string{"{z}", "{x}", "{y}"} {
		if strings.Count(template, name) != 1 || strings.Contains(u.Host, name) {
			return fmt.Errorf("the path must have %s once, as in https://tiles.example.com/{z}/{x}/{y}.pbf", name)
		}
	}
	if strings.ContainsAny(strings.NewReplacer("{z}", "", "{x}", "", "{y}", "").Replace(template), "{}") {
		return errors.New("the address must have no other placeholders than {z}, {x} and {y}")
	}
	return nil
}

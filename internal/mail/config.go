// Package mail sends e-mails of plain text by SMTP, one at a time. The jobs that send them
// decide when, to whom, and about retries (service/delivery).
package mail

import (
	"errors"
	"fmt"
	"net"
	netmail "net/mail"
	"net/url"
	"strconv"
	"strings"

	gomail "github.com/wneessen/go-mail"
)

// Config is the mail server. The zero value disables sending.
type Config struct {
	// URL is smtp://[user:password@]host[:port][?tls=starttls|none], or
	// smtps://… for implicit TLS. The default port is 587, 25 without TLS, and
	// 465 for smtps. smtp requires STARTTLS unless tls=none. A password is sent
	// without TLS to loopback only.
	URL string
	// From is the sender's address, with or without a name.
	From string
}

// Enabled reports whether e-mails are sent.
func (c Config) Enabled() bool { return c.URL != "" }

// Validate returns all problems of the configuration, joined. No message
// contains the URL, which may hold a password.
func (c Config) Validate() error {
	if c.URL == "" {
		if c.From != "" {
			return errors.New("--mail-from (ATLAS_MAIL_FROM), a sender of mail, needs --smtp-url (ATLAS_SMTP_URL)")
		}
		return nil
	}
	var faults []error
	if _, err := parseURL(c.URL); err != nil {
		faults = append(faults, fmt.Errorf("--smtp-url (ATLAS_SMTP_URL) %w", err))
	}
	if _, err := netmail.ParseAddress(c.From); err != nil {
		faults = append(faults, errors.New("--mail-from (ATLAS_MAIL_FROM), the sender of mail, must be an e-mail address, such as Atlas <atlas@example.com>"))
	}
	return errors.Join(faults...)
}

// server is a parsed Config.URL.
type server struct {
	host           string
	port           int
	user, password string
	encryption     encryption
}

type encryption string

const (
	startTLS encryption = "starttls"
	plain    encryption = "none"
	implicit encryption = "smtps"
)

func parseURL(text string) (server, error) {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || (u.Scheme != "smtp" && u.Scheme != "smtps") || strings.Trim(u.Path, "/") != "" || u.Fragment != "" {
		return server{}, errors.New("must be smtp://[user:password@]host[:port] or smtps://…")
	}
	s := server{host: u.Hostname(), user: u.User.Username()}
	s.password, _ = u.User.Password()
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return server{}, errors.New("has a malformed query")
	}
	for name := range query {
		if name != "tls" {
			return server{}, fmt.Errorf("has an unknown parameter %q: tls is the only one", name)
		}
	}
	if s.encryption, err = encryptionOf(u.Scheme, query.Get("tls")); err != nil {
		return server{}, err
	}
	if s.encryption == plain && s.user != "" && !loopback(s.host) {
		return server{}, errors.New("sends a password to a server without TLS, which only one on loopback may get")
	}
	s.port = map[encryption]int{startTLS: 587, plain: 25, implicit: 465}[s.encryption]
	if u.Port() != "" {
		if s.port, err = strconv.Atoi(u.Port()); err != nil || s.port < 1 || s.port > 65535 {
			return server{}, errors.New("has a port that is not 1 to 65535")
		}
	}
	return s, nil
}

func encryptionOf(scheme, tls string) (encryption, error) {
	switch {
	case scheme == "smtps" && tls == "":
		return implicit, nil
	case scheme == "smtps":
		return "", errors.New("begins with smtps, which always is TLS: leave out ?tls")
	case tls == "" || tls == string(startTLS):
		return startTLS, nil
	case tls == string(plain):
		return plain, nil
	}
	return "", errors.New("has a ?tls that is neither starttls nor none")
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// client returns an SMTP client for one e-mail.
func (s server) client() (*gomail.Client, error) {
	options := []gomail.Option{gomail.WithPort(s.port), gomail.WithTimeout(smtpTimeout), gomail.WithoutNoop(), gomail.WithoutRset()}
	auth := gomail.SMTPAuthAutoDiscover
	switch s.encryption {
	case implicit:
		options = append(options, gomail.WithSSL())
	case plain:
		options = append(options, gomail.WithTLSPolicy(gomail.NoTLS))
		auth = gomail.SMTPAuthPlain // automatic discovery does not use it without TLS
	default:
		options = append(options, gomail.WithTLSPolicy(gomail.TLSMandatory))
	}
	if s.user != "" {
		options = append(options, gomail.WithSMTPAuth(auth), gomail.WithUsername(s.user), gomail.WithPassword(s.password))
	}
	return gomail.NewClient(s.host, options...)
}

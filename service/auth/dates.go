package auth

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// date is the target of a claim that is a date: a number of seconds (RFC 7519, 2), or null
// for none. The library also accepts a string with a number, and maps a date that is out of
// range to an arbitrary one.
type date struct{ into **jwt.NumericDate }

// maxDate is the last second of the year 9999, the range of RFC 3339.
const maxDate = 253402300799

// UnmarshalJSON refuses values that are not numbers, dates before 1970 and after the year
// 9999.
func (d *date) UnmarshalJSON(raw []byte) error {
	if string(raw) == "null" {
		return nil
	}
	seconds, err := strconv.ParseFloat(string(raw), 64) // a string has quotation marks
	if err != nil {
		return errors.New("it is no number of seconds")
	}
	if seconds < 0 || seconds > maxDate {
		return errors.New("no date has this number of seconds")
	}
	whole, fraction := math.Modf(seconds)
	*d.into = jwt.NewNumericDate(time.Unix(int64(whole), int64(fraction*float64(time.Second))))
	return nil
}

// checkLifetime refuses a token with a longer lifetime than an issuer of access tokens
// allows. exp is present; without iat the remaining time counts.
func (c *claims) checkLifetime(most time.Duration, now time.Time) error {
	from := now
	if c.IssuedAt != nil {
		from = c.IssuedAt.Time
	}
	if life := c.ExpiresAt.Sub(from); life > most {
		return fmt.Errorf("it is good for %s, longer than %s", life, most)
	}
	return nil
}

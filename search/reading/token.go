package reading

import (
	"strings"
	"unicode/utf8"

	"atlas/search/catalog"
	"atlas/search/words"
)

// state is the role of a word.
type state uint8

const (
	unread state = iota
	// literal words remain text: in quotes, with operators, in addresses.
	literal
	// filler words mean nothing beside a condition.
	filler
	// read words are part of a condition.
	read
)

// token is a word of the question.
type token struct {
	text string // folded
	raw  string
	// gap is the text before it, without spaces.
	gap string
	// blank reports whether a space, a comma or the like precedes it.
	blank    bool
	from, to int // code points
	state    state
}

const quotes = "\"“”„‟«»″"

// tokenize splits a question into words, and marks those that must remain text.
func tokenize(text string) []token {
	var all []token
	end, points, open := 0, 0, false
	for _, w := range words.Tokens(text) {
		gap := text[end:w.From]
		for _, r := range gap {
			if strings.ContainsRune(quotes, r) {
				open = !open
			}
		}
		points += utf8.RuneCountInString(gap)
		t := token{
			text: catalog.Fold(w.Text), raw: text[w.From:w.To], gap: strings.TrimSpace(gap),
			blank: gap == "" || strings.ContainsAny(gap, " \t\r\n,;"), from: points,
		}
		points += utf8.RuneCountInString(t.raw)
		t.to, end = points, w.To
		if open || strings.HasPrefix(text[end:], "*") || strings.HasSuffix(gap, " -") || gap == "-" && end == w.To && len(all) == 0 {
			t.state = literal
		}
		all = append(all, t)
	}
	markCodes(text, all)
	return all
}

// markCodes marks words of e-mail addresses, links and codes such as permit numbers as
// text.
func markCodes(text string, all []token) {
	runes := []rune(text)
	for i := range all {
		if i == 0 || all[i].blank {
			end := i + 1
			for end < len(all) && !all[end].blank {
				end++
			}
			chunk := string(runes[all[i].from:all[end-1].to])
			letters := strings.ContainsAny(all[i].text, "abcdefghijklmnopqrstuvwxyz") && strings.ContainsAny(all[i].text, "0123456789")
			_, magnitude := numberOf(all[i].text)
			if strings.Contains(chunk, "@") || strings.Contains(chunk, "://") || strings.Contains(chunk, "www.") ||
				letters && !magnitude && !isQuarter(all[i].text) {
				for j := i; j < end; j++ {
					all[j].state = literal
				}
			}
		}
	}
}

// markAddresses marks a house number with its street as text: 4520 Madison Street.
func markAddresses(all []token) {
	for i := range all {
		if len(all[i].text) > 6 || strings.Trim(all[i].text, "0123456789") != "" || i > 0 && comparing(all[i-1].text) {
			continue
		}
		for j := i + 1; j < min(i+5, len(all)); j++ {
			word := all[j].text
			if numberWord(word) || j == i+1 && (word == "to" || word == "and") || words.Published.Function(word) {
				break
			}
			if !streetType(word) || j == i+1 {
				continue
			}
			for j+1 < len(all) && direction(all[j+1].text) {
				j++
			}
			for k := i; k <= j; k++ {
				all[k].state = literal
			}
			break
		}
	}
}

// streetType reports whether a word is a type of street, and not a part of a building.
func streetType(word string) bool {
	return words.Published.Street(word) && terms[word] == nil && !direction(word) && !numberWord(word) && !nouns[catalog.Projects][word]
}

func direction(word string) bool {
	switch word {
	case "n", "s", "e", "w", "ne", "nw", "se", "sw", "north", "south", "east", "west", "northeast", "northwest", "southeast", "southwest":
		return true
	}
	return false
}

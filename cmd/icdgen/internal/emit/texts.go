package emit

import (
	"fmt"
	"strings"
)

// texts are the strings of the registry's tables, all in one. A table has places in it and no strings: loading the
// driver would relocate each string of a table, and copy the page on which it lies.
type texts struct {
	all    strings.Builder
	places map[string]int
	parts  []string
}

const (
	textBits = 12 // of a place: the length
	textMost = 1 << (32 - textBits)
)

func newTexts() *texts { return &texts{places: map[string]int{}} }

// place is a string's vk.Text.
func (t *texts) place(s string) string {
	if s == "" {
		return "0"
	}
	at, ok := t.places[s]
	if !ok {
		at = t.all.Len()
		t.places[s] = at
		t.all.WriteString(s)
		t.parts = append(t.parts, s)
	}
	return fmt.Sprintf("%#x", at<<textBits|len(s))
}

// list has the places of several strings.
func (t *texts) list(list []string) string {
	var b strings.Builder
	for _, s := range list {
		b.WriteString(t.place(s) + ", ")
	}
	return b.String()
}

func (t *texts) print(p *printer) error {
	if t.all.Len() > textMost {
		return fmt.Errorf("%d bytes of names do not fit into places of vk.Text", t.all.Len())
	}
	p.f("const (\n// textBits is how many bits of a Text are its length.\ntextBits = %d\n\n", textBits)
	p.f("// tableText is what Texts are places in.\ntableText = \"\"")
	for _, s := range t.parts {
		if len(s) >= 1<<textBits {
			return fmt.Errorf("%q is too long for a vk.Text", s)
		}
		p.f(" +\n%q", s)
	}
	p.f("\n)\n")
	return nil
}

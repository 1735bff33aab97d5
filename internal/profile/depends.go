package profile

import "strings"

// satisfied evaluates a dependency of the registry: names joined by "+" (and) and "," (or), which bind alike from left
// to right, and parentheses. An empty expression holds. has answers for VK_VERSION_…, extensions and STRUCT::feature.
func satisfied(expression string, has func(name string) bool) bool {
	if expression == "" {
		return true
	}
	p := dependency{text: expression, has: has}
	return p.any()
}

type dependency struct {
	text string
	has  func(string) bool
}

func (p *dependency) any() bool {
	value := p.term()
	for p.text != "" && p.text[0] != ')' {
		operator := p.text[0]
		p.text = p.text[1:]
		if next := p.term(); operator == '+' {
			value = value && next
		} else {
			value = value || next
		}
	}
	return value
}

func (p *dependency) term() bool {
	if strings.HasPrefix(p.text, "(") {
		p.text = p.text[1:]
		value := p.any()
		p.text = strings.TrimPrefix(p.text, ")")
		return value
	}
	end := strings.IndexAny(p.text, "+,()")
	if end < 0 {
		end = len(p.text)
	}
	name := p.text[:end]
	p.text = p.text[end:]
	return name != "" && p.has(name)
}

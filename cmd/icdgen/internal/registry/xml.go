package registry

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxDepth is far above the registry's own nesting (8); it bounds what a hostile document can make us hold.
const maxDepth = 64

// node is one element with its mixed content in document order: a child is either an element or text.
type node struct {
	name  string
	attrs map[string]string
	kids  []kid
	line  int
}

type kid struct {
	elem *node
	text string
}

func (n *node) attr(name string) string { return n.attrs[name] }

// elems returns the child elements called name, or all of them for an empty name.
func (n *node) elems(name string) []*node {
	var out []*node
	for _, k := range n.kids {
		if k.elem != nil && (name == "" || k.elem.name == name) {
			out = append(out, k.elem)
		}
	}
	return out
}

func (n *node) first(name string) *node {
	for _, k := range n.kids {
		if k.elem != nil && k.elem.name == name {
			return k.elem
		}
	}
	return nil
}

// text joins all text below the node; comments are left out, since they may hold anything.
func (n *node) text() string {
	var b strings.Builder
	var walk func(*node)
	walk = func(n *node) {
		for _, k := range n.kids {
			switch {
			case k.elem == nil:
				b.WriteString(k.text)
			case k.elem.name != "comment":
				walk(k.elem)
			}
		}
	}
	walk(n)
	return b.String()
}

// label names an element in an error message, by its name attribute or its <name> child.
func (n *node) label() string {
	name := n.attr("name")
	if name == "" {
		if c := n.first("name"); c != nil {
			name = c.text()
		} else if p := n.first("proto"); p != nil && p.first("name") != nil {
			name = p.first("name").text()
		}
	}
	if name == "" {
		return "<" + n.name + ">"
	}
	return fmt.Sprintf("<%s name=%q>", n.name, name)
}

// Error says which element of the registry is wrong, and how.
type Error struct {
	Line    int    // line in the document, from 1; 0 when no single line is to blame
	Element string // the element, as <type name="VkFoo">
	Reason  string
}

func (e *Error) Error() string {
	where := "registry: "
	if e.Line != 0 {
		where = fmt.Sprintf("registry: line %d: ", e.Line)
	}
	// Names and text come from the document and may hold line breaks; the message is one line.
	return strings.Join(strings.Fields(where+e.Element+": "+e.Reason), " ")
}

func (n *node) errorf(format string, args ...any) error {
	return &Error{Line: n.line, Element: n.label(), Reason: fmt.Sprintf(format, args...)}
}

// parseTree reads one document. A syntax error names the innermost element that was open.
func parseTree(r io.Reader) (*node, error) {
	d := xml.NewDecoder(r)
	var stack []*node
	var root *node
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			line, _ := d.InputPos()
			where := "document"
			if len(stack) > 0 {
				where = stack[len(stack)-1].label()
			}
			reason := err.Error()
			var syntax *xml.SyntaxError
			if errors.As(err, &syntax) {
				line, reason = syntax.Line, syntax.Msg
			}
			if len(stack) > 0 {
				// What breaks off inside a tag has no name yet; the element before it has.
				if all := stack[len(stack)-1].elems(""); len(all) > 0 {
					reason += " after " + all[len(all)-1].label()
				}
			}
			return nil, &Error{Line: line, Element: where, Reason: reason}
		}
		switch t := tok.(type) {
		case xml.StartElement:
			line, _ := d.InputPos()
			n := &node{name: t.Name.Local, line: line, attrs: make(map[string]string, len(t.Attr))}
			for _, a := range t.Attr {
				n.attrs[a.Name.Local] = a.Value
			}
			if len(stack) == 0 {
				if root != nil {
					return nil, n.errorf("second root element")
				}
				root = n
			} else {
				top := stack[len(stack)-1]
				top.kids = append(top.kids, kid{elem: n})
			}
			if len(stack) >= maxDepth {
				return nil, n.errorf("nested deeper than %d", maxDepth)
			}
			stack = append(stack, n)
		case xml.EndElement:
			stack = stack[:len(stack)-1]
		case xml.CharData:
			if len(stack) > 0 {
				top := stack[len(stack)-1]
				top.kids = append(top.kids, kid{text: string(t)})
			}
		}
	}
	if root == nil {
		return nil, &Error{Element: "document", Reason: "no element in it"}
	}
	if root.name != "registry" {
		return nil, root.errorf("the root element must be <registry>")
	}
	return root, nil
}

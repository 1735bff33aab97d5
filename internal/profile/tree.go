package profile

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// The bounds of what a file may make us hold.
const (
	maxFile  = 16 << 20
	maxDepth = 32
	maxNodes = 1 << 20
)

// node is a JSON value. A scalar has a word, an object has keys, an object or a list has kids.
type node struct {
	kind jsontext.Kind
	word string
	keys []string
	kids []*node
	line int
}

type treeReader struct {
	data  []byte
	dec   *jsontext.Decoder
	nodes int
	at    int64 // the place up to which lines are counted
	line  int
}

// parseTree reads one JSON document.
func parseTree(data []byte) (*node, error) {
	// Tools have written members twice, of which the last counts.
	r := &treeReader{data: data, line: 1,
		dec: jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))}
	n, err := r.read(0)
	if err == nil && len(bytes.TrimSpace(data[r.dec.InputOffset():])) != 0 {
		err = errorf("something comes after the end of the document")
	}
	if err != nil {
		return nil, fmt.Errorf("line %d: %w", r.lineAt(), err)
	}
	return n, nil
}

// lineAt is the line that the decoder is in.
func (r *treeReader) lineAt() int {
	if to := r.dec.InputOffset(); to > r.at {
		r.line += bytes.Count(r.data[r.at:to], []byte{'\n'})
		r.at = to
	}
	return r.line
}

func (r *treeReader) read(depth int) (*node, error) {
	if r.nodes++; r.nodes > maxNodes || depth > maxDepth {
		return nil, errorf("the document has more than %d values, or %d levels", maxNodes, maxDepth)
	}
	token, err := r.dec.ReadToken()
	if err != nil {
		return nil, err
	}
	n := &node{kind: token.Kind(), line: r.lineAt()}
	switch n.kind {
	case '{', '[':
		for end := jsontext.Kind(n.kind + 2); r.dec.PeekKind() != end; {
			if n.kind == '{' {
				key, err := r.dec.ReadToken()
				if err != nil {
					return nil, err
				}
				n.keys = append(n.keys, key.String())
			}
			kid, err := r.read(depth + 1)
			if err != nil {
				return nil, err
			}
			n.kids = append(n.kids, kid)
		}
		_, err = r.dec.ReadToken()
		return n, err
	}
	n.word = token.String()
	return n, nil
}

// get returns the member of an object, nil if there is none.
func (n *node) get(key string) *node {
	if n == nil {
		return nil
	}
	for i := len(n.keys) - 1; i >= 0; i-- {
		if n.keys[i] == key {
			return n.kids[i]
		}
	}
	return nil
}

// words are the scalars of a scalar or of a list, false if it holds anything else.
func (n *node) words() ([]string, bool) {
	if n.kind != '[' {
		return []string{n.word}, n.kind != '{'
	}
	list := []string{}
	for _, k := range n.kids {
		if k.kind == '{' || k.kind == '[' {
			return nil, false
		}
		list = append(list, k.word)
	}
	return list, true
}

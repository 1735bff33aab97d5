package emit

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
)

var (
	vuidConstant = regexp.MustCompile(`\bvk\.(VUID_\w+)`)
	vuidMarks    = strings.NewReplacer("-", "_", ":", "_")
)

// VUIDsIn adds the constants vk.VUID_… that a Go file names to used.
func VUIDsIn(src []byte, used map[string]bool) {
	for _, m := range vuidConstant.FindAllSubmatch(src, -1) {
		used[string(m[1])] = true
	}
}

// VUIDList holds the valid usage identifiers that the specification has.
type VUIDList struct {
	ids   map[string]bool
	names map[string][]string // of constants: the identifiers that they may stand for
}

// ReadVUIDs reads a list of identifiers, one a line; a line that begins with # is a comment.
func ReadVUIDs(r io.Reader) (*VUIDList, error) {
	l := &VUIDList{ids: map[string]bool{}, names: map[string][]string{}}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		id := lines.Text()
		if strings.HasPrefix(id, "#") || id == "" || l.ids[id] {
			continue
		}
		l.ids[id] = true
		name := vuidMarks.Replace(id)
		l.names[name] = append(l.names[name], id)
	}
	return l, lines.Err()
}

// Constants prints the constants of package internal/vk for the identifiers in use. A constant of one that the
// specification doesn't have is an error, and so are two identifiers with the same constant.
func (l *VUIDList) Constants(used map[string]bool) (File, error) {
	// The identifiers are places in one string: a table of strings would be relocated whenever the driver is loaded.
	var text strings.Builder
	places := []int{0, 0} // where NoVUID begins, and where it ends
	p := new(printer)
	p.f("%spackage vk\n\n", header)
	p.f("// The valid usage identifiers that the driver names.\nconst (\nNoVUID VUID = iota // no rule applies\n")
	for _, name := range slices.Sorted(maps.Keys(used)) {
		switch ids := l.names[name]; len(ids) {
		case 0:
			return File{}, fmt.Errorf("vk.%s: the specification has no such valid usage identifier", name)
		case 1:
			p.f("%s\n", name)
			fmt.Fprintf(&text, "%q +\n", ids[0])
			places = append(places, places[len(places)-1]+len(ids[0]))
		default:
			return File{}, fmt.Errorf("%s stands for both %s and %s", name, ids[0], ids[1])
		}
	}
	p.f(")\n\nconst vuidText = %s\"\"\n\n", text.String())
	p.f("// vuidPlaces are where each identifier begins in vuidText, and where the last one ends.\n")
	p.f("var vuidPlaces = [...]uint32{\n")
	for i, place := range places {
		p.f("%d,", place)
		if i%16 == 15 {
			p.f("\n")
		}
	}
	p.f("}\n")
	return p.file("internal/vk/zz_generated_vuids.go")
}

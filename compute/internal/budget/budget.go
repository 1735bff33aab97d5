// Package budget bounds what a compilation of a shader uses. In comes what each phase is about to use, out goes memory
// from arenas, or the end of the compilation.
//
//  1. A resource is counted before it is used (Spend). What is over the limit ends the compilation by a panic (Fail),
//     which Recover makes an error of: no phase returns errors of its own.
//  2. A Budget belongs to one compilation, which is one goroutine's. All its phases spend the same Budget.
//  3. An Arena's elements are zero when they are taken, and are all given back together (Arenas.Reset): nothing that
//     outlives the compilation may keep one.
package budget

import "fmt"

// Resource is something that a compilation may use up. What a module asks for is not bounded by its length: calls are
// inlined, composites are listed by their scalars, and some passes look at pairs.
type Resource uint8

const (
	Calls  Resource = iota // that are inlined
	Blocks                 // of the graph, copies by inlining and unrolling included
	Nodes                  // likewise
	Bytes                  // of tables and lists
	Steps                  // of what may take more than linear time
	NumResources
)

// Limits is what each compilation may use. TestHostileModules holds that the limits together keep a compilation within
// 5 s and 512 MiB, TestBudgetHeadroom that shaders of applications use a small part of them.
var Limits = [NumResources]struct {
	What string
	Most int
}{
	Calls:  {"calls that are inlined", 1 << 16},
	Blocks: {"blocks with all calls inlined", 1 << 17},
	Nodes:  {"operations with all calls inlined", 1 << 18},
	Bytes:  {"bytes", 128 << 20},
	Steps:  {"steps", 1 << 28},
}

// Budget is what a compilation has used of each resource. Its zero value is a whole budget.
type Budget struct{ Used [NumResources]int }

// Spend counts n more of a resource before they are used. When they are more than the limit, the compilation ends with
// an error that names it.
func (b *Budget) Spend(r Resource, n int) {
	if b.Used[r] += n; b.Used[r] > Limits[r].Most {
		Fail(Exhausted(r))
	}
}

// Exhausted is the error of a compilation that needs more than its budget has of a resource.
type Exhausted Resource

func (e Exhausted) Error() string {
	return fmt.Sprintf("the shader is too large: its compilation takes more than %d %s", Limits[e].Most, Limits[e].What)
}

// NoteMost takes over what another compilation has used more of.
func (b *Budget) NoteMost(other *Budget) {
	for r := range b.Used {
		b.Used[r] = max(b.Used[r], other.Used[r])
	}
}

// failure is what a compilation panics with when it can't go on.
type failure struct{ err error }

// Fail ends the compilation with an error. A deferred Recover takes it.
func Fail(err error) { panic(failure{err}) }

// Recover makes an error of a panic of the compiler, whose caller defers it: err itself of Fail, or of a fault of the
// compiler's own one that names the entry point.
func Recover(entryPoint string, err *error) {
	switch r := recover().(type) {
	case nil:
	case failure:
		*err = r.err
	default:
		*err = fmt.Errorf("compiling %q: %v", entryPoint, r)
	}
}

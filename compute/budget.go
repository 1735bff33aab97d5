package compute

import "fmt"

// resource is something that a compilation may use up. What a module asks for is not bounded by its length: calls are
// inlined, composites are listed by their scalars, and some passes look at pairs.
type resource uint8

const (
	inlinedCalls   resource = iota
	loweredBlocks           // of the graph, copies by inlining and unrolling included
	loweredNodes            // likewise
	allocatedBytes          // of tables and lists
	takenSteps              // of what may take more than linear time
	numResources
)

// limits is what each compilation may use. TestHostileModules holds that the limits together keep a compilation within
// 5 s and 512 MiB, TestBudgetHeadroom that shaders of applications use a small part of them.
var limits = [numResources]struct {
	what string
	most int
}{
	inlinedCalls:   {"calls that are inlined", 1 << 16},
	loweredBlocks:  {"blocks with all calls inlined", 1 << 17},
	loweredNodes:   {"operations with all calls inlined", 1 << 18},
	allocatedBytes: {"bytes", 128 << 20},
	takenSteps:     {"steps", 1 << 28},
}

// budget is what a compilation has used of each resource.
type budget struct{ used [numResources]int }

// spend counts n more of a resource before they are used. When they are more than the limit, the compilation ends with
// an error that names it.
func (b *budget) spend(r resource, n int) {
	if b.used[r] += n; b.used[r] > limits[r].most {
		panic(failure{exhausted(r)})
	}
}

// exhausted is the error of a compilation that needs more than its budget has of a resource.
type exhausted resource

func (e exhausted) Error() string {
	return fmt.Sprintf("the shader is too large: its compilation takes more than %d %s", limits[e].most, limits[e].what)
}

// noteMost takes over what another compilation has used more of.
func (b *budget) noteMost(other *budget) {
	for r := range b.used {
		b.used[r] = max(b.used[r], other.used[r])
	}
}

// steps counts steps.
func (g *graph) steps(n int) { g.space.budget.spend(takenSteps, n) }

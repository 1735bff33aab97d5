package compute

import (
	"os"
	"slices"
	"strings"
)

// Each graph of these tests and of fuzzing is validated after each pass. Benchmarks measure the compiler alone.
func init() {
	validateGraphs = !slices.ContainsFunc(os.Args, func(a string) bool { return strings.HasPrefix(a, "-test.bench") })
}

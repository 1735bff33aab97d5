package compute

import (
	"os"
	"slices"
	"strings"

	"farside/compute/internal/ir"
)

// Each graph of these tests and of fuzzing is validated after each pass. Benchmarks measure the compiler alone.
func init() {
	ir.ValidateAll = !slices.ContainsFunc(os.Args, func(a string) bool { return strings.HasPrefix(a, "-test.bench") })
}

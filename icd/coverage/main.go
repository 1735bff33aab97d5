// Command coverage prints docs/COVERAGE.md.
package main

import (
	"fmt"
	"os"

	"farside/icd"
)

func main() {
	if err := icd.WriteCoverage(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "coverage:", err)
		os.Exit(1)
	}
}

package x86

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestFlags compares with what the kernel found.
func TestFlags(t *testing.T) {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		t.Fatal(err)
	}
	_, line, ok := strings.Cut(string(text), "\nflags")
	if !ok {
		t.Fatal("/proc/cpuinfo has no flags")
	}
	line, _, _ = strings.Cut(line, "\n")
	flags := strings.Fields(line)
	has := func(names ...string) bool {
		return !slices.ContainsFunc(names, func(n string) bool { return !slices.Contains(flags, n) })
	}
	if want := has("avx"); AVX() != want {
		t.Errorf("AVX: %v, the kernel says %v", AVX(), want)
	}
	if want := has("avx2", "fma", "f16c", "popcnt"); AVX2() != want {
		t.Errorf("AVX2: %v, the kernel says %v", AVX2(), want)
	}
}

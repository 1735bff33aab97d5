package compute

import (
	"path/filepath"
	"strings"
	"testing"

	"farside/spirv"
)

// BenchmarkCompile measures the compilation of the small shaders below testdata, decoding and laying out included.
func BenchmarkCompile(b *testing.B) {
	files, modules := testShaders(b)
	for n, words := range modules {
		b.Run(strings.TrimSuffix(filepath.Base(files[n]), ".comp"), func(b *testing.B) {
			for b.Loop() {
				m, err := spirv.Decode(words)
				if err != nil {
					b.Fatal(err)
				}
				p, err := Compile(m, "main", Options{SubgroupSize: 32})
				if err == nil {
					err = p.LayOut()
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

package compute

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"farside/spirv"
)

// BenchmarkCompile measures the compilation of the small shaders below testdata, decoding and laying out included.
func BenchmarkCompile(b *testing.B) {
	files, err := filepath.Glob("testdata/shaders/*.comp")
	if err != nil || len(files) == 0 {
		b.Fatal("no shaders", err)
	}
	for _, f := range files {
		source, err := os.ReadFile(f)
		if err != nil {
			b.Fatal(err)
		}
		words := glslWords(b, string(source))
		b.Run(strings.TrimSuffix(filepath.Base(f), ".comp"), func(b *testing.B) {
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

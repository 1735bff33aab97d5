package compute

import (
	"strings"
	"sync"
	"testing"

	"farside/spirv"
)

// TestLayOut lays programs out after others have been compiled, by several goroutines at once. They are as those that
// are laid out at once.
func TestLayOut(t *testing.T) {
	files, modules := testShaders(t)
	var programs []*Program
	var texts []string
	for n, words := range modules {
		m, err := spirv.Decode(words)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Compile(m, "main", Options{SubgroupSize: 32})
		if err != nil {
			t.Fatal(err)
		}
		if p.Insts != nil || p.draft == nil {
			t.Errorf("%s is laid out before anybody asks", files[n])
		}
		programs, texts = append(programs, p), append(texts, compileWords(t, words, Options{}).String())
	}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for n, p := range programs {
				if text := p.String(); text != texts[n] {
					t.Errorf("%s: another program than at once:\n%s\n%s", files[n], text, texts[n])
				}
			}
		})
	}
	group.Wait()
	for n, p := range programs {
		if p.draft != nil {
			t.Errorf("%s: the graph is kept behind the program", files[n])
		}
	}
}

// TestLargeFile compiles shaders whose arrays are too large for the register file: Compile says so, and not LayOut.
func TestLargeFile(t *testing.T) {
	for _, test := range []struct {
		elements string
		fits     bool
	}{{"1000", true}, {"200000", true}, {"300000", false}} {
		m, err := spirv.Decode(glslWords(t, `#version 450
			layout(local_size_x = 1024) in;
			layout(binding = 0) buffer B { uint at[]; };
			void main() {
				uint t[`+test.elements+`];
				t[at[0]] = 7;
				at[gl_GlobalInvocationID.x] = t[at[1]];
			}`))
		if err != nil {
			t.Fatal(err)
		}
		p, err := Compile(m, "main", Options{SubgroupSize: 32})
		switch {
		case test.fits && err != nil:
			t.Errorf("%s elements: %v", test.elements, err)
		case test.fits:
			if err := p.LayOut(); err != nil {
				t.Errorf("%s elements, laid out: %v", test.elements, err)
			}
		case err == nil || !strings.Contains(err.Error(), "1 GiB"):
			t.Errorf("%s elements: error %v, want one of 1 GiB", test.elements, err)
		}
	}
}

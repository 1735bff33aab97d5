package compute

import (
	"sync"
	"testing"
)

// TestWorkspaces compiles shaders again and again, on several goroutines, so that each is compiled in memory which
// others have been compiled in. The programs are as the first ones, also those that were compiled long before.
func TestWorkspaces(t *testing.T) {
	files, modules := testShaders(t)
	var programs []*Program
	var texts []string
	for _, words := range modules {
		p := compileWords(t, words, Options{})
		programs, texts = append(programs, p), append(texts, p.String())
	}
	var group sync.WaitGroup
	for from := range 4 {
		group.Go(func() {
			for round := range 8 {
				for n := range modules {
					n = (n*(from+1) + round) % len(modules)
					if text := compileWords(t, modules[n], Options{}).String(); text != texts[n] {
						t.Errorf("%s: another program than at first:\n%s\n%s", files[n], text, texts[n])
					}
				}
			}
		})
	}
	group.Wait()
	for n, p := range programs {
		if p.String() != texts[n] {
			t.Errorf("%s: the program has changed:\n%s\n%s", files[n], p, texts[n])
		}
	}
}

package native

import (
	"math/bits"
	"testing"
)

// TestPieces puts a vector together from its pieces, for each distance of lanes, and looks at what is read.
func TestPieces(t *testing.T) {
	number := [MostWords + 1]int{1: 1, 2: 2, 3: 3, 4: 4, 8: 8} // as few as there can be
	for words := int32(1); words <= MostWords; words++ {
		p := piecesOf(words)
		var blended [8]int32
		end := int32(0)
		for i, from := range p.from {
			if from < 0 {
				t.Errorf("%d words: piece %d begins in front of lane 0", words, i)
			}
			for place := range int32(8) {
				if i == 0 || p.takes[i]>>place&1 != 0 {
					blended[place] = from + place
				}
			}
			end = max(end, from+8)
		}
		for lane, place := range p.order {
			if got, want := blended[place], int32(lane)*words; got != want {
				t.Errorf("%d words: lane %d gets word %d, want %d", words, lane, got, want)
			}
		}
		if p.bytes != uint64(4*end) || bits.OnesCount32(uint32(words)) == 1 && end != 7*words+1 {
			t.Errorf("%d words: %d bytes are read, %d are said", words, 4*end, p.bytes)
		}
		if n := number[words]; n > 0 && len(p.from) != n || len(p.from) > 8 {
			t.Errorf("%d words: %d pieces", words, len(p.from))
		}
	}
}

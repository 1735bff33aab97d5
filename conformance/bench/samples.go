package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// samples is what was measured, by keys, of which the rows need some.
type samples struct {
	needed map[string]bool
	values map[string][]float64
}

func newSamples(rows []row) *samples {
	s := &samples{map[string]bool{}, map[string][]float64{}}
	for _, r := range rows {
		s.needed[r.key] = true
		if r.against != "" {
			s.needed[r.against] = true
		}
	}
	return s
}

// needs reports whether a row has one of the keys.
func (s *samples) needs(keys ...string) bool {
	return slices.ContainsFunc(keys, func(k string) bool { return s.needed[k] })
}

// add notes what measure returns. It does not call it for a key that no row has.
func (s *samples) add(key string, measure func() float64) {
	if s.needed[key] {
		s.note(key, measure())
	}
}

func (s *samples) note(key string, v float64) { s.values[key] = append(s.values[key], v) }

// read notes what a program has printed: lines of a key and nanoseconds.
func (s *samples) read(out []byte) error {
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSpace(line)
		i := strings.LastIndexByte(line, ' ')
		ns, err := strconv.ParseFloat(line[i+1:], 64)
		if i < 0 || err != nil {
			return fmt.Errorf("a program of conformance/bench/native says %q", line)
		}
		s.note(line[:i], ns)
	}
	return nil
}

func (s *samples) medians() map[string]float64 {
	m := map[string]float64{}
	for k, v := range s.values {
		v = slices.Sorted(slices.Values(v))
		m[k] = v[len(v)/2]
	}
	return m
}

func (s *samples) least() map[string]float64 {
	m := map[string]float64{}
	for k, v := range s.values {
		m[k] = slices.Min(v)
	}
	return m
}

package kernel

// best is the plain kernels with those in assembly in their places. All processors with arm64 have NEON.
func best() *Set {
	s := *Go()
	s.Name = "neon"
	s.useNEON()
	return &s
}

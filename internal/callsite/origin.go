package callsite

// Origin is where the application called the driver, as return addresses: what Walk finds. A nil *Origin is for nobody
// asked, or not known.
type Origin []uintptr

// Lines says what o is, a line for each caller, the first of which begins with what happened there.
func (o *Origin) Lines(what string) []string {
	if o == nil {
		return nil
	}
	lines := Names(*o)
	if len(lines) > 0 {
		lines[0] = what + " by " + lines[0]
	}
	return lines
}

// Place tells findings apart by where they come from.
func (o *Origin) Place() uint64 {
	if o == nil {
		return 0
	}
	return uint64((*o)[0])
}

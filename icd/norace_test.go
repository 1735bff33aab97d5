//go:build !race

package icd

const raceEnabled = false

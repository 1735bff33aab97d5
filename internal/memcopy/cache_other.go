//go:build !amd64

package memcopy

import "math"

// lastCache has no limit: Go's copy never goes past the caches on other processors.
func lastCache() int { return math.MaxInt }

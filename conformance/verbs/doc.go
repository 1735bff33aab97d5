// Package verbs has the tests of the stand-in for libibverbs and librdmacm with programs of others, unmodified: those
// of ibverbs-utils, perftest and rdmacm-utils, and small ones in C that know nothing but rdma-core's headers. The tests
// skip where a package of Debian's is missing.
package verbs

/* What the programs in C and C++ share. */
#include <farside_rdma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(x)                                                    \
	do {                                                        \
		if (!(x)) {                                         \
			printf("%s:%d: " #x "\n", __FILE__, __LINE__); \
			exit(1);                                    \
		}                                                   \
	} while (0)

/* The status of a call, which is named when it is another one than wanted. */
#define GIVES(call, want)                                                                            \
	do {                                                                                         \
		int gives_ = (call);                                                                 \
		if (gives_ != (want)) {                                                              \
			printf("%s:%d: " #call " gives %d (%s), not " #want "\n", __FILE__, __LINE__, \
				gives_, farside_status_string(gives_));                              \
			exit(1);                                                                     \
		}                                                                                    \
	} while (0)

/* Plain C: wild numbers become pointers in one place. */
static inline void *at(uint64_t number) { return (void *)(uintptr_t)number; }

static inline uint64_t number(const char *text) { return strtoull(text, NULL, 0); }

# Farside: a software Vulkan driver whose subject is external memory. `make help` lists the targets.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

GO       ?= go
VERSION  ?= 0.1.0
COMMIT   ?= $(shell git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)
REGISTRY ?= ../shared/registry/vk.xml
FUZZTIME ?= 10s
# For `make cts`: Khronos' program, and patterns that narrow the run.
DEQP_VK  ?=
CASES    ?=
# Flags of `make soak` and `make soak-fabric`.
SOAK     ?=
# Flags of `make fuzz-shaders`.
SHADERS  ?= -shaders.seeds 500
OUT      ?= .
# For whom `make install` installs: user or system.
SCOPE    ?= user
DESTDIR  ?=

BUILD   := $(CURDIR)/build
LIBRARY := $(BUILD)/libvulkan_farside.so
TOOL    := $(BUILD)/farside
ICDJSON := $(BUILD)/farside_icd.$(shell uname -m).json
EXPORTS := $(CURDIR)/cmd/libvulkan_farside/exports.map
LDFLAGS := -X farside/icd.Version=$(VERSION) -X farside/icd.Commit=$(COMMIT) \
           -extldflags=-Wl,--version-script=$(EXPORTS)
# The library of peers in C, its header and its pkg-config file.
RDMA         := $(CURDIR)/cmd/libfarside_rdma
RDMA_HEADER  := $(RDMA)/farside_rdma.h
RDMA_LIBRARY := $(BUILD)/libfarside_rdma.so
RDMA_SONAME  := libfarside_rdma.so.0
RDMA_LDFLAGS := -extldflags "-Wl,--version-script=$(RDMA)/exports.map -Wl,-soname,$(RDMA_SONAME)"
# VK_DRIVER_FILES is for loaders from 1.3.207 on, VK_ICD_FILENAMES for older ones.
ON_FARSIDE := VK_DRIVER_FILES=$(ICDJSON) VK_ICD_FILENAMES=$(ICDJSON)

ifeq ($(SCOPE),system)
PREFIX ?= /usr/local
else
PREFIX ?= $(HOME)/.local
endif
LIBDIR ?= $(PREFIX)/lib/farside
BINDIR ?= $(PREFIX)/bin

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "%-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# Without XDG_RUNTIME_DIR, vulkaninfo prints an error about Wayland before anything else.
.PHONY: run
run: ## set up, build, show the driver in vulkaninfo and run the demo
	@scripts/setup.sh run
	@$(MAKE) build
	@echo 'export $(ON_FARSIDE)'
	@echo; echo vulkaninfo --summary
	@$(ON_FARSIDE) XDG_RUNTIME_DIR=$${XDG_RUNTIME_DIR:-/tmp} vulkaninfo --summary
	@echo; echo $(GO) run ./conformance/demo
	@$(ON_FARSIDE) $(GO) run ./conformance/demo

.PHONY: run-hosts
run-hosts: ## set up, build and run the demo between two hosts, which are network namespaces
	@scripts/setup.sh run-hosts
	@$(MAKE) build
	@echo; echo $(GO) run ./conformance/demo hosts
	@$(ON_FARSIDE) $(GO) run ./conformance/demo hosts

.PHONY: test
test: ## set up, build and run every test
	@scripts/setup.sh test
	@$(MAKE) build
	$(GO) vet ./...
	$(GO) test -shuffle=on -timeout 30m ./...

# The c-shared build mode also writes a C header, which nobody needs: the loader asks by symbol name, and peers in C
# have a header that is written by hand.
.PHONY: build
build: ## build the driver, its manifest, the library of peers in C and the farside tool into build/, nothing else
	@mkdir -p $(BUILD)
	$(GO) build -trimpath -buildvcs=false -buildmode=c-shared -ldflags='$(LDFLAGS)' -o $(LIBRARY) ./cmd/libvulkan_farside
	$(GO) build -trimpath -buildvcs=false -buildmode=c-shared -ldflags='$(RDMA_LDFLAGS)' -o $(RDMA_LIBRARY) ./cmd/libfarside_rdma
	@ln -sf $(notdir $(RDMA_LIBRARY)) $(BUILD)/$(RDMA_SONAME)
	@rm -f $(LIBRARY:.so=.h) $(RDMA_LIBRARY:.so=.h)
	$(GO) build -trimpath -buildvcs=false -o $(TOOL) ./cmd/farside
	$(GO) run ./cmd/icdgen manifest -library ./$(notdir $(LIBRARY)) -output $(ICDJSON)

.PHONY: generate
generate: ## rewrite the generated code from the Vulkan registry (REGISTRY=vk.xml)
	$(GO) run ./cmd/icdgen api -registry $(REGISTRY) -out $(OUT)
	$(GO) run ./compute/internal/kernel/asm -out $(OUT)

.PHONY: generate-check
generate-check: ## fail when the committed generated code isn't what the registry gives
	@scripts/generate-check.sh $(REGISTRY)

.PHONY: coverage
coverage: ## rewrite docs/COVERAGE.md from the driver's tables
	$(GO) run ./icd/coverage > docs/COVERAGE.md

.PHONY: bench
bench: ## set up, build, compare with lavapipe and run the packages' benchmarks
	@scripts/setup.sh bench
	@$(MAKE) build
	$(GO) run ./conformance/bench
	$(GO) test -run '^$$' -bench . -benchmem ./...

.PHONY: cts
cts: ## run the Khronos CTS in shards (DEQP_VK=path/to/deqp-vk CASES='PATTERN...')
	@[ -n '$(DEQP_VK)' ] || { echo 'make cts: set DEQP_VK to the path of deqp-vk; see docs/cts.md' >&2; exit 2; }
	@$(MAKE) build
	@set -f; $(ON_FARSIDE) $(GO) run ./conformance/cts --deqp-vk '$(DEQP_VK)' $(CASES)

.PHONY: fuzz-shaders
fuzz-shaders: ## compare random shaders on vector kernels, on Go kernels and on lavapipe (SHADERS='-shaders.first 1000')
	@scripts/setup.sh test
	$(GO) test ./conformance -run TestRandomShaders -timeout 0 -args $(SHADERS)

.PHONY: vkfft
vkfft: ## compare the transforms of VkFFT of all sizes with their definition (minutes)
	@scripts/setup.sh test
	$(GO) test ./conformance -run TestVkFFT -timeout 30m -v -args -vkfft.long -drivers farside

.PHONY: soak
soak: ## run the ring of processes that are killed and restarted (SOAK='--duration 10m --processes 8')
	@$(MAKE) build
	@$(ON_FARSIDE) $(GO) run ./conformance/soak $(SOAK)

.PHONY: soak-fabric
soak-fabric: ## run owners and peers of the fabric that are killed and restarted (SOAK='--duration 10m --peers 8')
	$(GO) run ./conformance/fabricsoak $(SOAK)

.PHONY: race
race: ## run every test with the race detector
	$(GO) test -race -shuffle=on -timeout 30m ./...

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME
	@scripts/fuzz.sh $(FUZZTIME)

# arm64 is cross-checked without a C compiler, so without the package that holds the one import "C".
.PHONY: vet
vet: ## go vet for amd64 and arm64
	GOARCH=amd64 CGO_ENABLED=0 $(GO) vet ./...
	GOARCH=arm64 CGO_ENABLED=0 $(GO) vet ./...
	$(GO) vet ./...

# The other packages' tests start programs for arm64 by themselves, or use what qemu lacks: robust futexes, mappings at fixed places.
# The test left out would measure the memory of qemu.
ARM64 := ./spirv ./compute/... ./icd ./manifest ./internal/command ./internal/descriptor ./internal/exec \
         ./internal/handle ./internal/sampling ./internal/texel ./internal/transfer ./internal/vk

.PHONY: arm64
arm64: ## run the tests of the packages that work under qemu as programs for arm64 (minutes)
	@scripts/setup.sh arm64
	QEMU_LD_PREFIX=/usr/aarch64-linux-gnu CC=aarch64-linux-gnu-gcc CGO_ENABLED=1 GOARCH=arm64 \
		$(GO) test -exec qemu-aarch64-static -skip '^TestPoolsGiveMemoryBack$$' $(ARM64)

.PHONY: lint
lint: ## gofmt, staticcheck and the house rules that a machine can check
	@out=$$(gofmt -l .); [ -z "$$out" ] || { echo "not gofmt'ed:" $$out >&2; exit 1; }
	@scripts/house-rules.sh
	$(GO) tool staticcheck ./...

.PHONY: symbols
symbols: ## fail unless the built libraries export what the loader and the header of peers in C name, and no more
	@scripts/symbols.sh $(LIBRARY) $(RDMA_LIBRARY) $(RDMA_HEADER)

.PHONY: install
install: build ## install driver, library and the farside tool for the user, or for all with SCOPE=system
	install -D -m 755 $(RDMA_LIBRARY) $(DESTDIR)$(PREFIX)/lib/$(RDMA_SONAME)
	ln -sf $(RDMA_SONAME) $(DESTDIR)$(PREFIX)/lib/$(notdir $(RDMA_LIBRARY))
	install -D -m 644 $(RDMA_HEADER) $(DESTDIR)$(PREFIX)/include/$(notdir $(RDMA_HEADER))
	@mkdir -p $(DESTDIR)$(PREFIX)/lib/pkgconfig
	sed 's|@PREFIX@|$(PREFIX)|; s|@VERSION@|$(VERSION)|' $(RDMA)/farside-rdma.pc.in >$(DESTDIR)$(PREFIX)/lib/pkgconfig/farside-rdma.pc
	install -D -m 755 $(LIBRARY) $(DESTDIR)$(LIBDIR)/$(notdir $(LIBRARY))
	install -D -m 755 $(TOOL) $(DESTDIR)$(BINDIR)/$(notdir $(TOOL))
	$(GO) run ./cmd/icdgen manifest -library $(LIBDIR)/$(notdir $(LIBRARY)) -install $(SCOPE) -root '$(DESTDIR)'

.PHONY: uninstall
uninstall: ## remove what install installed
	$(GO) run ./cmd/icdgen manifest -remove $(SCOPE) -root '$(DESTDIR)'
	rm -f $(DESTDIR)$(LIBDIR)/$(notdir $(LIBRARY)) $(DESTDIR)$(BINDIR)/$(notdir $(TOOL)) $(addprefix $(DESTDIR)$(PREFIX)/, \
		lib/$(RDMA_SONAME) lib/$(notdir $(RDMA_LIBRARY)) include/$(notdir $(RDMA_HEADER)) lib/pkgconfig/farside-rdma.pc)

.PHONY: clean
clean: ## remove build/
	rm -rf $(BUILD)

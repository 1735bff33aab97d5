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
# Flags of `make guest`, and names of steps.
GUEST    ?=
# For `make pyverbs`: rdma-core's directory tests/.
PYVERBS  ?=
# Flags of `make soak`, `make soak-fabric` and `make soak-verbs`.
SOAK     ?=
# What `make mutants` runs.
GREMLINS := github.com/go-gremlins/gremlins/cmd/gremlins@v0.6.0
# Flags of `make fuzz-shaders`.
SHADERS  ?= -shaders.seeds 500
OUT      ?= .
# What `make dist` makes packages for, Debian's names.
ARCHES   ?= amd64 arm64
# Flags of the linker for packages.
STRIP    ?=
# For whom `make install` installs: user or system.
SCOPE    ?= user
DESTDIR  ?=

# Tests are compiled as the tool is, so that they share what has been compiled. Each other way takes as long as the whole
# driver does. With -buildmode=pie the driver's code could be shared, too, but each process would begin 10 ms later.
GOFLAGS := $(filter-out -trimpath -buildvcs=false,$(GOFLAGS)) -trimpath -buildvcs=false
export GOFLAGS

# What is in the tree is named from its top, as make takes a path with a space for two.
BUILD   := build
LIBRARY := $(BUILD)/libvulkan_farside.so
TOOL    := $(BUILD)/farside
ICDJSON := $(BUILD)/farside_icd.$(shell uname -m).json
# The library of peers in C, and its header.
RDMA         := cmd/libfarside_rdma
RDMA_HEADER  := $(RDMA)/farside_rdma.h
RDMA_LIBRARY := $(BUILD)/libfarside_rdma.so
RDMA_SONAME  := libfarside_rdma.so.0

# The stand-in for libibverbs and librdmacm: not in Go, since a program that only links with it must not have Go's threads.
VERBS         := cmd/libibverbs
VERBS_LIBRARY := $(BUILD)/verbs/libibverbs.so.1

# quote WORD: one word of the shell, whatever is in it.
quote = '$(subst ','\'',$(1))'
# Absolute paths that the linker gets: the linker runs elsewhere. The go command takes quotes of either kind around a
# flag, and hands the inner ones on.
ifneq (,$(findstring ',$(CURDIR))$(findstring ",$(CURDIR)))
$(error make can not build in a directory whose path has quotes: $(CURDIR))
endif
version_script = -Xlinker '--version-script=$(CURDIR)/$(1)'
LDFLAGS      := $(STRIP) -X farside/icd.Version=$(VERSION) -X farside/icd.Commit=$(COMMIT) \
                -extldflags "$(call version_script,cmd/libvulkan_farside/exports.map)"
RDMA_LDFLAGS := $(STRIP) -extldflags "$(call version_script,$(RDMA)/exports.map) -Wl,-soname,$(RDMA_SONAME)"
TOOL_LDFLAGS := $(STRIP) -X main.version=$(VERSION)
# VK_DRIVER_FILES is for loaders from 1.3.207 on, VK_ICD_FILENAMES for older ones.
ON_FARSIDE := VK_DRIVER_FILES=$(call quote,$(CURDIR)/$(ICDJSON)) VK_ICD_FILENAMES=$(call quote,$(CURDIR)/$(ICDJSON))

ifeq ($(SCOPE),system)
PREFIX ?= /usr/local
else
PREFIX ?= $(HOME)/.local
endif
INSTALLATION = --scope $(call quote,$(SCOPE)) --prefix $(call quote,$(PREFIX)) --destdir $(call quote,$(DESTDIR))

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "%-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# Without XDG_RUNTIME_DIR, vulkaninfo prints an error about Wayland before anything else.
.PHONY: run
run: ## set up, build, show the driver in vulkaninfo and run the demo
	@scripts/setup.sh run
	@$(MAKE) build
	@echo export $(call quote,$(ON_FARSIDE))
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
	$(GO) test -shuffle=on -timeout 60m ./...

.PHONY: build
build: binaries ## build the driver, its manifest, the libraries of peers in C and of verbs and the farside tool into build/, nothing else
	$(GO) run ./cmd/icdgen manifest -library ./$(notdir $(LIBRARY)) -output $(ICDJSON)

# What depends on the architecture. scripts/dist.sh sets BUILD, STRIP and the go command's variables.
# The c-shared build mode also writes a C header, which nobody needs: the loader asks by symbol name, and peers in C
# have a header that is written by hand. A library that was copied loads faster than what the linker has written through
# a mapping: the page cache has it in larger pieces. Programs may start meanwhile, since tests of several packages make
# the libraries: none finds a file that is half written, or is missing. One make at a time does it. The go command begins
# with a copy of what there is, and leaves that as it is if nothing has changed.
MADE := $(LIBRARY) $(RDMA_LIBRARY) $(TOOL)

.PHONY: binaries
binaries:
	@mkdir -p $(BUILD)
	@flock $(BUILD) $(MAKE) --no-print-directory locked-binaries

.PHONY: locked-binaries
locked-binaries:
	@for f in $(MADE); do if [ -e $$f ]; then cp -p $$f $$f.made; fi; done
	$(GO) build -buildmode=c-shared -ldflags=$(call quote,$(LDFLAGS)) \
		-o $(LIBRARY).made ./cmd/libvulkan_farside
	$(GO) build -buildmode=c-shared -ldflags=$(call quote,$(RDMA_LDFLAGS)) \
		-o $(RDMA_LIBRARY).made ./cmd/libfarside_rdma
	@cp $(RDMA_HEADER) $(BUILD)
	@mkdir -p $(dir $(VERBS_LIBRARY))
	$(CC) -shared -fPIC -O2 $(filter -s,$(STRIP)) -Wall -Wextra -Werror -Wl,-soname,$(notdir $(VERBS_LIBRARY)) \
		-Wl,-z,now -Wl,--version-script=$(VERBS)/zz_generated_exports.map \
		-o $(VERBS_LIBRARY).made $(VERBS)/zz_generated_stubs.S $(VERBS)/resolve.c
	@mv -f $(VERBS_LIBRARY).made $(VERBS_LIBRARY)
	@ln -sf $(notdir $(VERBS_LIBRARY)) $(dir $(VERBS_LIBRARY))librdmacm.so.1
	$(GO) build -ldflags=$(call quote,$(TOOL_LDFLAGS)) -o $(TOOL).made ./cmd/farside
	@for f in $(MADE); do cp -p $$f.made $$f.new; mv -f $$f.new $$f; rm -f $$f.made; done
	@ln -sf $(notdir $(RDMA_LIBRARY)) $(BUILD)/$(RDMA_SONAME)
	@rm -f $(LIBRARY).h $(RDMA_LIBRARY).h

.PHONY: generate
generate: ## rewrite the generated code from the Vulkan registry (REGISTRY=vk.xml)
	$(GO) run ./cmd/icdgen api -registry $(REGISTRY) -out $(OUT)
	$(GO) run ./cmd/icdgen verbs -out $(OUT)
	$(GO) run ./compute/internal/ops/opgen -out $(OUT)
	$(GO) run ./compute/internal/kernel/asm -out $(OUT)
	$(GO) run ./compute/internal/kernel/asmarm -out $(OUT)
	$(GO) run ./internal/lanes/asm -out $(OUT)

.PHONY: generate-check
generate-check: ## fail when the committed generated code isn't what the registry gives
	@scripts/generate-check.sh $(REGISTRY)

.PHONY: coverage
coverage: ## rewrite docs/COVERAGE.md from the driver's tables
	$(GO) run ./icd/coverage > docs/COVERAGE.md

.PHONY: docs
docs: ## rewrite docs/environment.md and the table of docs/strict.md from the driver's tables
	$(GO) run ./cmd/farside env --markdown > docs/environment.md
	$(GO) run ./internal/finding/table docs/strict.md

.PHONY: bench
bench: ## set up, build, compare with lavapipe and run the packages' benchmarks (VKMARK=vkmark HEADLESS=manifest)
	@scripts/setup.sh bench
	@$(MAKE) build
	$(GO) run ./conformance/bench $(if $(VKMARK),-vkmark $(call quote,$(VKMARK)) -headless $(call quote,$(HEADLESS)))
	$(GO) test -run '^$$' -bench . -benchmem ./...

.PHONY: cts
cts: ## run the Khronos CTS in shards (DEQP_VK=path/to/deqp-vk CASES='PATTERN...')
	@[ -n '$(DEQP_VK)' ] || { echo 'make cts: set DEQP_VK to the path of deqp-vk; see docs/cts.md' >&2; exit 2; }
	@$(MAKE) build
	@set -f; $(ON_FARSIDE) $(GO) run ./conformance/cts --deqp-vk '$(DEQP_VK)' $(CASES)

.PHONY: guest
guest: ## run the tests that need dma-buf and RDMA in a kernel that has them, in QEMU (GUEST='--accel tcg STEP...', DEQP_VK=path/to/deqp-vk)
	@scripts/setup.sh guest
	@$(MAKE) build
	$(GO) run ./conformance/guest $(if $(DEQP_VK),--deqp-vk '$(DEQP_VK)') $(GUEST)

.PHONY: fuzz-shaders
fuzz-shaders: ## compare random shaders on vector kernels, on Go kernels and on lavapipe (SHADERS='-shaders.first 1000')
	@scripts/setup.sh test
	$(GO) test ./conformance -run TestRandomShaders -timeout 0 -args $(SHADERS)

.PHONY: vkfft
vkfft: ## compare the transforms of VkFFT of all sizes with their definition (minutes)
	@scripts/setup.sh test
	$(GO) test ./conformance -run TestVkFFT -timeout 30m -v -args -vkfft.long -drivers farside

.PHONY: pyverbs
pyverbs: ## run rdma-core's own tests on Farside (PYVERBS=path/to/rdma-core/tests, else those of python3-pyverbs)
	@scripts/setup.sh test
	$(GO) test ./conformance/verbs -run '^TestPyverbs$$' -count=1 -v -args -pyverbs=$(call quote,$(abspath $(PYVERBS)))

.PHONY: soak
soak: ## run rings of processes that are killed and restarted, and copy or draw (SOAK='--duration 10m --processes 8')
	@$(MAKE) build
	@$(ON_FARSIDE) $(GO) run ./conformance/soak $(SOAK)
	@$(ON_FARSIDE) $(GO) run ./conformance/soak --draw $(SOAK)

.PHONY: soak-fabric
soak-fabric: ## run owners and peers of the fabric that are killed and restarted (SOAK='--duration 10m --peers 8')
	$(GO) run ./conformance/fabricsoak $(SOAK)

.PHONY: soak-verbs
soak-verbs: ## run RDMA programs that are killed, stopped and restarted (SOAK='--duration 10m --processes 5 --apart')
	@$(MAKE) build
	@$(TOOL) verbs -- $(GO) run ./conformance/verbssoak $(SOAK)

# These packages drive libraries and programs as they are built, in which the detector isn't: it would see the tests alone.
AS_BUILT := cmd/farside cmd/libvulkan_farside conformance conformance/soak conformance/verbs conformance/verbssoak
# Neither the code of these nor their tests have more than one thread.
ALONE    := cmd/icdgen cmd/icdgen/internal/emit cmd/icdgen/internal/registry compute/internal/kernel/asmarm \
            conformance/reference conformance/shaders internal/ieee internal/lanes internal/texel internal/unlike \
            internal/vk manifest rdmasim/internal/wire scripts/rules spirv verbs/internal/packet
.PHONY: race
race: ## run every test with the race detector, but for those of built programs and of code for one thread
	$(GO) test -race -shuffle=on -timeout 40m $$($(GO) list ./... | grep -vxF $(patsubst %,-e farside/%,$(AS_BUILT) $(ALONE)))

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME
	@scripts/fuzz.sh $(FUZZTIME)

# Packages below icd and the fabric's: faults there are seldom seen from outside.
MUTANTS ?= ./internal/fd ./internal/memfd ./internal/handle ./export ./memory ./internal/syncobj ./internal/exec \
           ./rdmasim
.PHONY: mutants
mutants: ## put faults into packages, one at a time, and list those that no test notices (hours; MUTANTS='./export')
	for package in $(MUTANTS); do $(GO) run $(GREMLINS) unleash $$package --workers 1 --timeout-coefficient 10; done

# arm64 is cross-checked without a C compiler, so without the package that holds the one import "C".
.PHONY: vet
vet: ## go vet for amd64 and arm64
	GOARCH=arm64 CGO_ENABLED=0 $(GO) vet ./...
	$(GO) vet ./...

# The other packages' tests start programs for arm64 by themselves, or use what qemu lacks: robust futexes, mappings at
# fixed places. The test left out would measure the memory of qemu.
ARM64 := ./spirv ./compute/... ./icd ./manifest ./internal/command ./internal/descriptor ./internal/exec \
         ./internal/handle ./internal/lanes ./internal/sampling ./internal/texel ./internal/transfer ./internal/vk

.PHONY: arm64
arm64: ## run the tests of the packages that work under qemu as programs for arm64 (minutes)
	@scripts/setup.sh arm64
	QEMU_LD_PREFIX=/usr/aarch64-linux-gnu CC=aarch64-linux-gnu-gcc CGO_ENABLED=1 GOARCH=arm64 \
		$(GO) test -exec qemu-aarch64-static -skip '^TestPoolsGiveMemoryBack$$' $(ARM64)

# The tests of the vector kernels of arm64, and some of what runs on them, without a C compiler.
.PHONY: neon
neon: ## run the tests of the kernels in NEON, and of what runs on them, under qemu
	@scripts/setup.sh arm64
	$(GO) test ./compute/internal/kernel/asmarm
	GOARCH=arm64 CGO_ENABLED=0 $(GO) test -vet=off -exec qemu-aarch64-static ./compute/internal/kernel ./compute/internal/vm
	GOARCH=arm64 CGO_ENABLED=0 $(GO) test -vet=off -exec qemu-aarch64-static -short \
		-run '^Test(Shaders|RandomShaders|ProductsInSums|DeepCalls|Guards|HalvesMoveAsBits|Layouts|Rows)$$' ./compute

.PHONY: lint
lint: ## gofmt, staticcheck and the house rules that a machine can check
	@out=$$(gofmt -l .); [ -z "$$out" ] || { echo "not gofmt'ed:" $$out >&2; exit 1; }
	@scripts/house-rules.sh
	$(GO) tool staticcheck ./...
	cd packaging && "$$(cd .. && $(GO) tool -n staticcheck)" ./...

.PHONY: symbols
symbols: ## fail unless the built libraries export what the loader and the header of peers in C name, and no more
	@scripts/symbols.sh $(LIBRARY) $(RDMA_LIBRARY) $(RDMA_HEADER)

.PHONY: install
install: build ## install driver, library and the farside tool for the user, or for all with SCOPE=system
	$(TOOL) install $(INSTALLATION)

.PHONY: uninstall
uninstall: ## remove what install installed
	$(GO) run ./cmd/farside uninstall $(INSTALLATION)

.PHONY: dist
dist: ## make a tarball and a .deb for each of ARCHES (amd64 arm64) in build/dist/; the same tree gives the same bytes
	@scripts/setup.sh dist
	@VERSION=$(call quote,$(VERSION)) COMMIT=$(call quote,$(COMMIT)) scripts/dist.sh $(ARCHES)

.PHONY: dist-test
dist-test: ## make packages, and install and run them in a clean Debian (minutes)
	@scripts/setup.sh dist-test
	@$(MAKE) dist
	cd packaging && $(GO) vet ./... && $(GO) test -count=1 -timeout 30m ./...

.PHONY: clean
clean: ## remove build/
	rm -rf $(BUILD)

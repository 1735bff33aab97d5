#!/usr/bin/env bash
# Installs what a make target needs and the machine lacks:
# scripts/setup.sh run|run-hosts|test|bench|guest|arm64|dist|dist-test
# Each need is looked for by what it provides, so that it need not have come from a Debian package.
set -euo pipefail

purpose=${1:-run}
case $purpose in
run | run-hosts | test | bench | guest | arm64 | dist | dist-test) ;;
*)
	echo "usage: $0 run|run-hosts|test|bench|guest|arm64|dist|dist-test" >&2
	exit 2
	;;
esac

if ! command -v go >/dev/null; then
	echo "setup: the go command is missing; Farside needs Go 1.26 or later (https://go.dev/dl)" >&2
	exit 1
fi

any() { # any FILE...: one of the files exists
	local file
	for file; do [ -e "$file" ] && return; done
	return 1
}
# Not `| grep -q`, which would end the pipe early and fail it.
has_library() { [[ $(PATH=$PATH:/sbin:/usr/sbin ldconfig -p) == *$1* ]]; }

missing=()
need() { # need PACKAGE REASON TEST...
	local package=$1 reason=$2
	shift 2
	"$@" >/dev/null 2>&1 && return
	echo "setup: $package is missing: $reason"
	missing+=("$package")
}

need gcc "links the shared library" command -v gcc
need libc6-dev "its headers are needed to link the shared library" any /usr/include/stdio.h
need libvulkan1 "the Vulkan loader, through which programs reach the driver" has_library libvulkan.so.1
if [ "$purpose" != run-hosts ]; then
	need vulkan-tools "vulkaninfo shows the driver" command -v vulkaninfo
fi
if [ "$purpose" != run-hosts ]; then
	need glslang-dev "compiles the shaders of the demo, the tests and the benchmarks" \
		any /usr/include/glslang/Public/resource_limits_c.h
	need spirv-tools "checks what is compiled, and assembles what GLSL can't say" command -v spirv-val
fi
if [ "$purpose" = run-hosts ] || [ "$purpose" = test ] || [ "$purpose" = guest ]; then
	need iproute2 "ip joins the two hosts, and rdma makes the guest's adapter" command -v ip
fi
if [ "$purpose" = test ] || [ "$purpose" = bench ]; then
	need mesa-vulkan-drivers "lavapipe, the driver to compare with" \
		any /usr/share/vulkan/icd.d/lvp_icd.*.json /usr/local/share/vulkan/icd.d/lvp_icd.*.json
fi
if [ "$purpose" = test ] || [ "$purpose" = guest ]; then
	need vulkan-validationlayers "checks that the conformance suite uses the API as specified" \
		any /{usr,usr/local,etc}/{share/,}vulkan/explicit_layer.d/VkLayer_khronos_validation.json
fi
if [ "$purpose" = test ] || [ "$purpose" = guest ]; then
	need ibverbs-utils "ibv_devinfo and the pingpongs, programs of others that use verbs" command -v ibv_rc_pingpong
	need perftest "ib_write_bw and the like" command -v ib_write_bw
	need rdmacm-utils "rping and the like" command -v rping
fi
if [ "$purpose" = test ]; then
	need libvulkan-dev "its header says how the C compiler lays out every structure" any /usr/include/vulkan/vulkan_core.h
	need g++ "checks that C++ programs can use the header of peers in C" command -v g++
	need glslang-tools "compiles shaders of programs in C, as their authors would" command -v glslangValidator
	need libvkfft-dev "Fourier transforms by shaders, a client that nobody wrote for this driver" any /usr/include/vkFFT.h
	need ffmpeg "its filters for Vulkan, another such client" command -v ffmpeg
	need nodejs "runs Dawn, WebGPU on Vulkan" command -v node
	need npm "gets Dawn" command -v npm
	need chromium "looks at the pages of reports" command -v chromium
	need pkgconf "checks what make install writes for those who build against the library of peers in C" \
		command -v pkg-config
	need binutils "nm lists the exported symbols" command -v nm
	need libibverbs-dev "its headers say how the C compiler lays out the structures of verbs" \
		any /usr/include/infiniband/verbs.h
	need librdmacm-dev "the same for the connection manager" any /usr/include/rdma/rdma_cma.h
	need qperf "its tests of RC" command -v qperf
	need fio "its engine for RDMA" command -v fio
	need ucx-utils "ucx_perftest, UCX over verbs" command -v ucx_perftest
	need libfabric-bin "fi_pingpong, libfabric over verbs" command -v fi_pingpong
	need openmpi-bin "runs programs of MPI" command -v mpirun
	need libopenmpi-dev "compiles them" command -v mpicc
	need python3-pyverbs "rdma-core's own tests" any /usr/share/doc/rdma-core/tests/__init__.py
	need libcap2-bin "setcap gives a program privileges, which ignores the environment then" any /{usr/,}sbin/setcap
	need groff "formats the manual pages as man does" command -v groff
	need python3-scapy "computes the CRCs of RoCE packets for itself" \
		any /usr/lib/python3/dist-packages/scapy/contrib/roce.py
	need tshark "dissects the packets of RDMA programs" command -v tshark
fi
if [ "$purpose" = bench ]; then
	need libvulkan-dev "its header is needed to compile a program that measures RDMA" any /usr/include/vulkan/vulkan_core.h
	need libibverbs-dev "the same" any /usr/include/infiniband/verbs.h
	need iproute2 "ip joins two hosts" command -v ip
	need perftest "ib_write_lat" command -v ib_write_lat
	need ucx-utils "ucx_perftest, to compare latencies with" command -v ucx_perftest
	need libfabric-bin "fi_pingpong, likewise" command -v fi_pingpong
fi
if [ "$purpose" = guest ]; then
	need qemu-system-x86 "the machine in which the guest's kernel runs" command -v qemu-system-x86_64
	need ibverbs-providers "lets these programs use the kernel's RDMA device" any /etc/libibverbs.d/rxe.driver
	need xz-utils "unpacks the kernel's modules" command -v xz
	need libvulkan-dev "its header is needed to compile a program with dma-bufs" any /usr/include/vulkan/vulkan_core.h
	need libibverbs-dev "the same" any /usr/include/infiniband/verbs.h
	need librdmacm-dev "the same" any /usr/include/rdma/rdma_cma.h
fi
if [ "$purpose" = arm64 ]; then
	need gcc-aarch64-linux-gnu "compiles and links for arm64" command -v aarch64-linux-gnu-gcc
	need binutils-aarch64-linux-gnu "its assembler says how instructions are encoded" command -v aarch64-linux-gnu-as
	need libc6-dev-arm64-cross "the C library of arm64" any /usr/aarch64-linux-gnu/include/stdio.h
	need qemu-user-static "runs programs for arm64" command -v qemu-aarch64-static
fi
if [[ $purpose == dist* ]]; then
	if [ "$(go env GOHOSTARCH)" = arm64 ]; then
		need gcc-x86-64-linux-gnu "compiles and links for amd64" command -v x86_64-linux-gnu-gcc
		need libc6-dev-amd64-cross "the C library of amd64" any /usr/x86_64-linux-gnu/include/stdio.h
	else
		need gcc-aarch64-linux-gnu "compiles and links for arm64" command -v aarch64-linux-gnu-gcc
		need libc6-dev-arm64-cross "the C library of arm64" any /usr/aarch64-linux-gnu/include/stdio.h
	fi
fi
if [ "$purpose" = dist-test ]; then
	need dpkg "reads what is in a package" command -v dpkg-deb
	need lintian "checks packages against Debian's policy" command -v lintian
	need mmdebstrap "makes the clean Debian that packages are installed in" command -v mmdebstrap
	need uidmap "lets mmdebstrap have several users without being root" command -v newuidmap
	need qemu-user-static "runs programs for arm64" command -v qemu-aarch64-static
	need buildah "builds the Containerfile" command -v buildah
fi

[ ${#missing[@]} -eq 0 ] && exit

if ! command -v apt-get >/dev/null; then
	echo "setup: there is no apt-get here; install what these Debian packages hold: ${missing[*]}" >&2
	exit 1
fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then
	if ! command -v sudo >/dev/null; then
		echo "setup: not root and no sudo; run as root: apt-get install ${missing[*]}" >&2
		exit 1
	fi
	as_root=(sudo)
fi
echo "setup: installing ${missing[*]}"
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "${missing[@]}"

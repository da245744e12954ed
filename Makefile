# Heddle. `make help` lists the targets; scripts/bootstrap lists the packages.
#
#   build/heddle            the launcher (runtime/cli and what it needs of the archive)
#   build/libheddle.so      what is preloaded; its SONAME is libcuda.so.1
#   build/libheddle_core.a  the same objects, for unit tests and fuzzers
#   build/shims/            empty libcudart.so.N for machines without a toolkit, and libcuda.so for dlopen;
#                           in shims/bin the launcher as ptxas and nvcc;
#                           in shims/nvml the library as libnvidia-ml.so.1;
#                           in shims/python what `heddle python` gives an interpreter
#
# Variables: BUILD=dir  WERROR=1  SAN=-fsanitize=..  CC=..  PREFIX=/usr/local  DESTDIR=  FUZZ_SECONDS=10  V=1

ifeq ($(origin CC),default)
CC := gcc
endif
BUILD ?= build
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 10
VERSION := 0.1.0
Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-5s %s\n' '$(1)' '$@';)

WARN := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wundef -Wformat=2
WARN += $(if $(WERROR),-Werror)
# Fusing a*b+c would be a wrong result; errno after sqrt() is nobody's business.
CFLAGS := -std=c11 -O2 -g -fPIC -fvisibility=hidden -ffp-contract=off -fno-math-errno -pthread -MMD -MP $(WARN) $(SAN)
CPPFLAGS := -I. -D_GNU_SOURCE -DHEDDLE_VERSION='"$(VERSION)"'

# emu/isa_*.c hold the 32-lane kernels: one object for each level of the host's vector instructions.
# They are the slowest files to compile: under a sanitizer the baseline alone has it, at -O1, and HEDDLE_ISA=base runs that.
ISA_base := $(if $(SAN),-O1,-O3) -fno-trapping-math
ISA_avx2 := $(ISA_base) -mavx2 -mfma -mbmi -mbmi2 -mf16c
ISA_avx512 := $(ISA_avx2) -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512

isa_src := $(wildcard emu/isa_*.c)
lib_src := $(filter-out $(isa_src),$(wildcard interpose/*.c runtime/*.c runtime/base/*.c runtime/checkpoint/*.c runtime/debug/*.c timing/*.c timing/*/*.c emu/*.c ptx/*.c))
cli_src := $(wildcard runtime/cli/*.c)
unit_src := $(wildcard tests/unit/test_*.c)
fuzz_src := $(wildcard tests/fuzz/fuzz_*.c)

obj := $(BUILD)/obj
lib_obj := $(lib_src:%.c=$(obj)/%.o) \
           $(foreach isa,base avx2 avx512,$(isa_src:%.c=$(obj)/%.$(isa).o))
cli_obj := $(cli_src:%.c=$(obj)/%.o)
cli_lib_obj := $(filter-out $(obj)/runtime/cli/main.o,$(cli_obj))
units := $(unit_src:tests/unit/%.c=$(BUILD)/tests/%)
fuzzers := $(fuzz_src:tests/fuzz/%.c=$(BUILD)/tests/%)
core := $(BUILD)/libheddle_core.a
cli_core := $(BUILD)/libheddle_cli.a

# Static where the system has it: the library lives in somebody else's process and must not drag libraries in. Debian's
# libelf.a is not position-independent, so libelf alone is shared in libheddle.so; the launcher has even that inside.
static_or_shared = $(if $(filter /%,$(shell $(CC) -print-file-name=lib$(1).a)),-l:lib$(1).a,-l$(1))
formats = $(call static_or_shared,lz4) $(call static_or_shared,zstd)
host_libs = $(call static_or_shared,ffi) -lm -lpthread -ldl
SO_LIBS = -Wl,--as-needed -lelf $(formats) $(host_libs)
EXE_LIBS = $(call static_or_shared,elf) $(formats) $(call static_or_shared,z) $(host_libs)
# The launcher alone: line editing, and JSON for editors.
CLI_LIBS = $(if $(filter /%,$(shell $(CC) -print-file-name=libedit.a)),-l:libedit.a -l:libtinfo.a -l:libbsd.a -l:libmd.a,-ledit) \
           -Wl,--as-needed $(call static_or_shared,cjson)
no_undefined := -Wl,-z,defs
comma := ,

.DELETE_ON_ERROR:
.PHONY: all shims demo check units bench lint docs docs-check asan ubsan san tsan fuzz fuzzers install clean help

all: $(BUILD)/heddle $(BUILD)/libheddle.so shims                     ## build the launcher and the library

# ---- objects ----

$(obj)/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(CPPFLAGS) $(CFLAGS) -c $< -o $@

define isa_rule
$(obj)/emu/isa_%.$(1).o: emu/isa_%.c
	@mkdir -p $$(@D)
	$$(call say,CC)$$(CC) $$(CPPFLAGS) $(if $(filter base,$(1)),$$(CFLAGS),$$(filter-out $$(SAN),$$(CFLAGS))) $(ISA_$(1)) -DLANE_ISA=$(1) -c $$< -o $$@
endef
$(foreach isa,base avx2 avx512,$(eval $(call isa_rule,$(isa))))

# The built-in GPUs are texts inside the library.
$(obj)/timing/parts.o: $(wildcard timing/gpus/*.conf)

# A changed Makefile (flags) or a removed source file rebuilds what depends on it.
$(lib_obj) $(cli_obj): Makefile
$(BUILD)/lib_obj.list: FORCE
	@mkdir -p $(@D); echo '$(lib_obj)' | cmp -s - $@ || echo '$(lib_obj)' > $@
.PHONY: FORCE

# ---- artefacts ----

$(core): $(lib_obj) $(BUILD)/lib_obj.list
	$(call say,AR)rm -f $@; ar rcs $@ $(lib_obj)

$(cli_core): $(cli_lib_obj)
	$(call say,AR)rm -f $@; ar rcs $@ $(cli_lib_obj)

# CI (WERROR=1) insists that every symbol resolves; a half-built tree may still link.
$(BUILD)/libheddle.so: $(lib_obj) $(BUILD)/lib_obj.list
	$(call say,LD)$(CC) -shared $(CFLAGS) -Wl,-soname,libcuda.so.1 -Wl,--exclude-libs,ALL $(if $(WERROR),$(no_undefined)) \
	    -o $@ $(lib_obj) $(SO_LIBS)

# libc and libedit come before the library's objects: what the launcher asks for by name (dlsym, history_end) is theirs, and the
# library has functions of such names for its own use.
$(BUILD)/heddle: $(obj)/runtime/cli/main.o $(cli_core) $(core)
	$(call say,LD)$(CC) $(CFLAGS) -o $@ $< -lc $(cli_core) $(CLI_LIBS) $(core) $(EXE_LIBS)

# The launcher by the names of tools that programs call at run time.
standins := $(BUILD)/shims/bin/ptxas $(BUILD)/shims/bin/nvcc
# The driver in a folder without the empty libcudart, for the loader's path of programs that open everything.
driver_shims := $(BUILD)/shims/driver/libcuda.so $(BUILD)/shims/driver/libcuda.so.1
cudart_shims := $(foreach v,11.0 12 13,$(BUILD)/shims/libcudart.so.$(v))
python_shims := $(patsubst runtime/cli/python/%,$(BUILD)/shims/python/%,$(wildcard runtime/cli/python/*.py))
shims: $(cudart_shims) $(BUILD)/shims/libcuda.so $(BUILD)/shims/libcuda.so.1 $(standins) $(driver_shims) $(BUILD)/shims/nvml/libnvidia-ml.so.1 $(python_shims)

# Empty, but with the SONAME and the version node that the loader asks for; the preloaded library has the symbols.
$(cudart_shims): $(BUILD)/shims/libcudart.so.%: Makefile
	@mkdir -p $(@D); echo 'libcudart.so.$* { };' > $@.map
	$(call say,LD)$(CC) -shared -nostdlib -Wl,-soname,libcudart.so.$* -Wl,--version-script,$@.map -o $@ -x c /dev/null && rm $@.map

$(standins):
	@mkdir -p $(@D); ln -sf ../../heddle $@

$(driver_shims):
	@mkdir -p $(@D); ln -sf ../../libheddle.so $@

$(BUILD)/shims/libcuda.so $(BUILD)/shims/libcuda.so.1:
	@mkdir -p $(@D); ln -sf ../libheddle.so $@

# In a folder of its own, which is always on the loader's path: the library itself under NVML's name.
$(BUILD)/shims/nvml/libnvidia-ml.so.1:
	@mkdir -p $(@D); ln -sf ../../libheddle.so $@; ln -sf ../../libheddle.so $(@D)/libnvidia-ml.so

$(BUILD)/shims/python/%.py: runtime/cli/python/%.py
	@mkdir -p $(@D); cp $< $@

# ---- demo: a CUDA driver-API program in plain C, its PTX inside ----

$(BUILD)/demo: tests/demo/demo.c tests/demo/demo.ptx $(BUILD)/libheddle.so shims
	$(call say,CC)$(CC) $(CPPFLAGS) $(filter-out -MMD -MP,$(CFLAGS)) $< -o $@ -L$(BUILD)/shims -lcuda -lm

demo:                                                                ## run a CUDA program that needs no nvcc
	@scripts/bootstrap
	@$(MAKE) --no-print-directory all $(BUILD)/demo
	$(BUILD)/heddle $(BUILD)/demo

# ---- tests ----

ptx_cases := tests/ptx/cases.c tests/ptx/emit.c tests/ptx/cases.h tests/ptx/images.c tests/ptx/images.h
# The runner of tests/ptx is a program for any CUDA driver: it links libcuda and libc, nothing of Heddle.
$(BUILD)/ptx-run: tests/ptx/run.c $(ptx_cases) tests/ptx/images_make.c $(BUILD)/libheddle.so $(BUILD)/shims/libcuda.so
	$(call say,CC)$(CC) $(CPPFLAGS) $(filter-out -MMD -MP,$(CFLAGS)) $(filter %.c,$^) -o $@ -L$(BUILD)/shims -lcuda -lm

$(BUILD)/ptx-cover: tests/ptx/cover.c $(ptx_cases) $(core)
	$(call say,CC)$(CC) $(CPPFLAGS) $(filter-out -MMD -MP,$(CFLAGS)) $(filter %.c,$^) -o $@ $(core) $(EXE_LIBS)

$(BUILD)/ptx-fold: tests/ptx/fold.c $(ptx_cases)
	$(call say,CC)$(CC) $(CPPFLAGS) $(filter-out -MMD -MP,$(CFLAGS)) $(filter %.c,$^) -o $@ -lm

# The program of tests/debug: as the demo.
$(BUILD)/debug-host: tests/debug/host.c $(BUILD)/libheddle.so $(BUILD)/shims/libcuda.so
	$(call say,CC)$(CC) $(CPPFLAGS) $(filter-out -MMD -MP,$(CFLAGS)) $< -o $@ -L$(BUILD)/shims -lcuda

# The lowering of PTX files, for scripts/lowering-report.
$(BUILD)/ptx-lower: tests/lower/lower.c $(core)
	$(call say,CC)$(CC) $(CPPFLAGS) $(filter-out -MMD -MP,$(CFLAGS)) $< -o $@ $(core) $(EXE_LIBS)

$(BUILD)/tests/test_%: tests/unit/test_%.c $(cli_core) $(core)
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(CPPFLAGS) $(CFLAGS) -MF $@.d $< -o $@ $(cli_core) $(CLI_LIBS) $(core) $$(pkg-config --libs check) $(EXE_LIBS)

units: $(units)

check:                                                               ## all tests; the last line counts them
	@scripts/bootstrap
	@$(MAKE) --no-print-directory all units $(BUILD)/demo $(BUILD)/ptx-run $(BUILD)/debug-host
	@BUILD=$(BUILD) scripts/check

# sanitized NAME FLAGS: a build of its own under $(BUILD)/NAME
define sanitized
@scripts/bootstrap
+@$(MAKE) --no-print-directory BUILD=$(BUILD)/$(1) SAN='$(2)' units
@HEDDLE_ISA=base BUILD=$(BUILD)/$(1) scripts/check units
endef

asan:                                                                ## unit tests under AddressSanitizer
	$(call sanitized,asan,-fsanitize=address -fno-omit-frame-pointer)

ubsan:                                                               ## unit tests under UndefinedBehaviorSanitizer
	$(call sanitized,ubsan,-fsanitize=undefined -fno-sanitize-recover=undefined)

san:                                                                 ## both at once, as CI does
	$(call sanitized,san,-fsanitize=address$(comma)undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)

tsan:                                                                ## unit tests under ThreadSanitizer
	$(call sanitized,tsan,-fsanitize=thread)

$(BUILD)/tests/fuzz_%: tests/fuzz/fuzz_%.c $(core)
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(CPPFLAGS) $(CFLAGS) -fsanitize=fuzzer -MF $@.d $< -o $@ $(core) $(EXE_LIBS)

fuzzers: $(fuzzers)

# Random PTX on every level of the host's vector instructions: of the build that ships, not of a sanitized one.
$(BUILD)/tests/levels: tests/fuzz/levels.c $(core)
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(CPPFLAGS) $(CFLAGS) -MF $@.d $< -o $@ $(core) $(EXE_LIBS)

fuzz:                                                                ## each fuzzer for FUZZ_SECONDS (needs clang)
	@$(MAKE) --no-print-directory $(BUILD)/tests/levels all $(BUILD)/debug-host
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/fuzz CC=clang SAN='-fsanitize=fuzzer-no-link,address' fuzzers
	@LEVELS=$(BUILD)/tests/levels PLAIN=$(BUILD) BUILD=$(BUILD)/fuzz FUZZ_SECONDS=$(FUZZ_SECONDS) scripts/fuzz

bench: all                                                           ## speed: rates, start-up, launch cost, memory
	@BUILD=$(BUILD) scripts/bench

lint: $(BUILD)/libheddle.so                                          ## floors, exports, sizes, forbidden calls, cppcheck
	@BUILD=$(BUILD) scripts/lint

docs: $(core) $(BUILD)/ptx-cover                                     ## regenerate the generated pages
	@BUILD=$(BUILD) scripts/docs

docs-check: $(core) $(BUILD)/ptx-cover                               ## fail when a generated page is not up to date
	@BUILD=$(BUILD) scripts/docs --check

# ---- the rest ----

install: all                                                         ## install under DESTDIR/PREFIX
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/heddle/shims
	install -m 755 $(BUILD)/heddle $(DESTDIR)$(PREFIX)/bin/heddle
	install -d $(DESTDIR)$(PREFIX)/include
	install -m 644 emu/heddle_plugin.h $(DESTDIR)$(PREFIX)/include/heddle_plugin.h
	install -m 755 $(BUILD)/libheddle.so $(DESTDIR)$(PREFIX)/lib/heddle/libheddle.so
	install -m 755 $(cudart_shims) $(DESTDIR)$(PREFIX)/lib/heddle/shims
	ln -sf ../libheddle.so $(DESTDIR)$(PREFIX)/lib/heddle/shims/libcuda.so
	install -d $(DESTDIR)$(PREFIX)/lib/heddle/shims/bin $(DESTDIR)$(PREFIX)/lib/heddle/shims/driver
	for l in libcuda.so libcuda.so.1; do ln -sf ../../libheddle.so $(DESTDIR)$(PREFIX)/lib/heddle/shims/driver/$$l; done
	for t in ptxas nvcc; do ln -sf ../../../../bin/heddle $(DESTDIR)$(PREFIX)/lib/heddle/shims/bin/$$t; done
	ln -sf ../libheddle.so $(DESTDIR)$(PREFIX)/lib/heddle/shims/libcuda.so.1
	install -d $(DESTDIR)$(PREFIX)/lib/heddle/shims/nvml
	ln -sf ../../libheddle.so $(DESTDIR)$(PREFIX)/lib/heddle/shims/nvml/libnvidia-ml.so.1
	ln -sf ../../libheddle.so $(DESTDIR)$(PREFIX)/lib/heddle/shims/nvml/libnvidia-ml.so
	install -d $(DESTDIR)$(PREFIX)/lib/heddle/shims/python
	install -m 644 $(python_shims) $(DESTDIR)$(PREFIX)/lib/heddle/shims/python

clean:                                                               ## remove the build folder
	rm -rf $(BUILD)

help:                                                                ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' Makefile | expand -t 14

-include $(shell find $(BUILD) -name '*.d' -not -path '$(BUILD)/*san/*' -not -path '$(BUILD)/fuzz/*' 2>/dev/null)

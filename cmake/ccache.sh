#!/bin/sh
# usage: ccache.sh CCACHE COMPILER ARGUMENT ...
# Compiles through ccache. Without care a cache miss costs a quarter of the compilation: ccache
# would preprocess the source a second time (CCACHE_DEPEND avoids that) and read the whole
# precompiled header, some 200 MB (CCACHE_PCH_EXTSUM reads a checksum beside it, which is
# written here together with the header).
export CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_DEPEND=1 CCACHE_PCH_EXTSUM=1
"$@" || exit
case " $* " in
  *' c++-header '*)
    while [ "$1" != -o ]; do shift; done
    cksum "$2" >"$2.sum"
    ;;
esac

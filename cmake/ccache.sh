#!/bin/sh
# usage: ccache.sh CCACHE COMPILER ARGUMENT ...
# Compiles through ccache. Without care a cache miss costs a quarter of the compilation: ccache
# would preprocess the source a second time (CCACHE_DEPEND avoids that) and read the whole
# precompiled header, some 200 MB (CCACHE_PCH_EXTSUM reads a checksum beside it). The checksum
# is written here together with the header. It is that of the command and the preprocessed text,
# because GCC never writes the same precompiled header twice.
export CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_DEPEND=1 CCACHE_PCH_EXTSUM=1
"$@" || exit
case " $* " in
  *' c++-header '*)
    shift
    previous=''
    for argument; do
      shift
      if [ "$previous" = -o ]; then
        output=$argument
      elif [ "$argument" != -o ]; then
        set -- "$@" "$argument"
      fi
      previous=$argument
    done
    { echo "$@" && "$@" -E; } | cksum >"$output.sum"
    ;;
esac

// Times of the solvers of prediction games, one file per kind of game.
#include <benchmark/benchmark.h>

BENCHMARK_MAIN();

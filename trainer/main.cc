// sortition-trainer: learns from logged decisions or labelled queries, and
// publishes policies that are better.
#include <string>
#include <vector>

#include "trainer/commands.h"

int main(int argc, char** argv) {
  return sortition::RunTrainer(std::vector<std::string>(argv + 1, argv + argc));
}

#pragma once
// As precompiled_messages.h, for tests.
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "precompiled_messages.h"

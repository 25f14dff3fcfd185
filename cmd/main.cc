#include "cmd/demo.h"
#include "cmd/options.h"
#include "cmd/probe.h"
#include "cmd/serve.h"

#include <csignal>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>

namespace {

using namespace loadline;

Status run(const cmd::HelpText& help) {
  std::cout << help.text;
  return {};
}
Status run(const cmd::ServeOptions& options) { return cmd::serve(options); }
Status run(const cmd::DemoOptions& options) { return cmd::demo(options, std::cout); }
Status run(const cmd::ProbeOptions& options) { return cmd::probe(options, std::cout); }
Status run(const cmd::ReplayOptions& options) {
  if (std::filesystem::is_directory(options.input)) {
    return Error(Code::kBadRequest,
                 "--input " + options.input + ": it is a folder; name a CSV file in it");
  }
  std::ifstream file(options.input);
  if (!file)
    return Error(Code::kNotFound,
                 "--input " + options.input + ": cannot be read; is the path right?");
  return cmd::replay(options, file, std::cout);
}

}  // namespace

// 0: well. 2: wrong input, one line on stderr says what and how to mend it. 1: a bug of ours.
int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a reader that goes away must not leave half of us behind
  try {
    auto options = cmd::parse_options(argc, argv);
    Status outcome = options ? std::visit([](const auto& o) { return run(o); }, *options)
                             : Status(options.error());
    if (outcome) return 0;
    std::cerr << "loadline: " << outcome.error().message << '\n';
    return outcome.error().code == Code::kInternal ? 1 : 2;
  } catch (const std::exception& error) {
    std::cerr << "loadline: internal error: " << error.what() << '\n';
    return 1;
  }
}

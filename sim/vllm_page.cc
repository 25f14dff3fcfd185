#include "sim/vllm_page.h"

#include <charconv>
#include <cmath>
#include <string_view>

namespace loadline::sim {
namespace {

// As Python prints a float: 3.0, 0.25, 1.7e+09.
std::string number(double value) {
  char text[40];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  std::string result(text, end);
  if (result.find_first_of(".en") == std::string::npos) result += ".0";
  return result;
}

std::string escaped(std::string_view value) {
  std::string result;
  for (const char c : value) {
    if (c == '\\' || c == '"') result += '\\';
    if (c == '\n') {
      result += "\\n";
    } else {
      result += c;
    }
  }
  return result;
}

class Page {
 public:
  explicit Page(const PageOptions& options)
      : engine_("engine=\"" + escaped(options.engine) + '"'),
        model_("model_name=\"" + escaped(options.model_name) + '"') {}

  // more: further labels, ending in a comma, that sort between engine and model_name.
  void sample(std::string_view name, double value, const std::string& more = {}) {
    line(name, engine_ + ',' + more + model_, value);
  }

  void head(std::string_view name, std::string_view type, std::string_view help) {
    text_.append("# HELP ").append(name).append(" ").append(help).append("\n# TYPE ");
    text_.append(name).append(" ").append(type).append("\n");
  }

  void gauge(std::string_view name, std::string_view help, double value) {
    head(name, "gauge", help);
    sample(name, value);
  }

  void counter(std::string_view name, std::string_view help, std::int64_t value) {
    head(name, "counter", help);
    sample(name, static_cast<double>(value));
  }

  void histogram(const std::string& name, std::string_view help, const Histogram& histogram) {
    head(name, "histogram", help);
    std::int64_t below = 0;
    for (std::size_t i = 0; i < histogram.bounds().size(); ++i) {
      below += histogram.counts()[i];
      bucket(name, number(histogram.bounds()[i]), below);
    }
    bucket(name, "+Inf", histogram.count());
    sample(name + "_count", static_cast<double>(histogram.count()));
    sample(name + "_sum", histogram.sum());
  }

  void line(std::string_view name, const std::string& labels, double value) {
    text_.append(name);
    if (!labels.empty()) text_.append("{").append(labels).append("}");
    text_.append(" ").append(number(value)).append("\n");
  }

  const std::string& engine_label() const { return engine_; }
  std::string take() { return std::move(text_); }

 private:
  void bucket(const std::string& name, const std::string& bound, std::int64_t below) {
    sample(name + "_bucket", static_cast<double>(below), "le=\"" + bound + "\",");
  }

  std::string engine_, model_, text_;
};

void write_load(Page& page, const Engine& engine) {
  const EngineGauges& now = engine.gauges();
  page.gauge("vllm:num_requests_running", "Requests in the batch.", now.running);
  page.gauge("vllm:num_requests_waiting", "Requests that wait to be scheduled.", now.waiting);
  page.head("vllm:num_requests_waiting_by_reason", "gauge", "Waiting requests by reason.");
  page.sample("vllm:num_requests_waiting_by_reason", now.waiting, "reason=\"capacity\",");
  page.gauge("vllm:kv_cache_usage_perc", "KV cache in use, 1 is all of it.", now.kv_usage);
}

void write_counters(Page& page, const Engine& engine) {
  const EngineCounters& total = engine.counters();
  page.counter("vllm:prefix_cache_queries_total", "Tokens looked up in the prefix cache.",
               total.prefix_queries);
  page.counter("vllm:prefix_cache_hits_total", "Tokens found in the prefix cache.",
               total.prefix_hits);
  page.counter("vllm:num_preemptions_total", "Requests thrown out of the batch.",
               total.preemptions);
  page.counter("vllm:prompt_tokens_total", "Prompt tokens, cached ones included.",
               total.prompt_tokens);
  page.counter("vllm:prompt_tokens_cached_total", "Prompt tokens from the prefix cache.",
               total.prompt_tokens_cached);
  page.counter("vllm:generation_tokens_total", "Tokens generated.", total.generation_tokens);
  page.head("vllm:request_success_total", "counter", "Requests finished, by reason.");
  for (std::size_t i = 0; i < kFinishReasons; ++i) {
    const std::string reason(to_string(static_cast<FinishReason>(i)));
    page.sample("vllm:request_success_total", static_cast<double>(total.finished[i]),
                "finished_reason=\"" + reason + "\",");
  }
}

void write_histograms(Page& page, const EngineHistograms& all) {
  page.histogram("vllm:request_prompt_tokens", "Prompt tokens of a request.", all.prompt_tokens);
  page.histogram("vllm:request_generation_tokens", "Tokens generated for a request.",
                 all.generation_tokens);
  page.histogram("vllm:iteration_tokens_total", "Tokens of an engine step.", all.iteration_tokens);
  page.histogram("vllm:time_to_first_token_seconds", "Time to the first token.", all.ttft);
  page.histogram("vllm:inter_token_latency_seconds", "Time between two tokens.", all.itl);
  page.histogram("vllm:request_time_per_output_token_seconds", "Mean time a token, by request.",
                 all.time_per_output_token);
  page.histogram("vllm:e2e_request_latency_seconds", "From arrival to the end.", all.e2e);
  page.histogram("vllm:request_queue_time_seconds", "From arrival to the first step.", all.queue);
  page.histogram("vllm:request_inference_time_seconds", "From the first step to the end.",
                 all.inference);
  page.histogram("vllm:request_prefill_time_seconds", "From the first step to the first token.",
                 all.prefill);
  page.histogram("vllm:request_decode_time_seconds", "From the first token to the end.",
                 all.decode);
}

void write_limits(Page& page, const EngineSpec& spec) {
  page.head("vllm:cache_config_info", "gauge", "The cache's configuration, in labels.");
  const std::string blocks = std::to_string(spec.kv_tokens / spec.block_tokens);
  page.line("vllm:cache_config_info",
            "block_size=\"" + std::to_string(spec.block_tokens) + "\"," + page.engine_label() +
                ",num_gpu_blocks=\"" + blocks + '"',
            1);
}

}  // namespace

std::string vllm_page(const Engine& engine, const PageOptions& options) {
  Page page(options);
  if (options.start_unix_s) {
    page.head("process_start_time_seconds", "gauge", "Start of the process, Unix time.");
    page.line("process_start_time_seconds", "", *options.start_unix_s);
  }
  write_load(page, engine);
  write_counters(page, engine);
  write_histograms(page, engine.histograms());
  write_limits(page, engine.spec());
  return page.take();
}

estimator::EngineSignals signals_of(const Engine& engine) {
  const EngineCounters& total = engine.counters();
  const EngineHistograms& histograms = engine.histograms();
  estimator::EngineSignals signals;
  signals.t_s = engine.now_s();
  signals.completed_total = static_cast<double>(engine.completed());
  signals.running = engine.gauges().running;
  signals.waiting = engine.gauges().waiting;
  signals.prompt_tokens_total = static_cast<double>(total.prompt_tokens);
  signals.prompt_tokens_cached_total = static_cast<double>(total.prompt_tokens_cached);
  signals.generation_tokens_total = static_cast<double>(total.generation_tokens);
  signals.iterations_total = static_cast<double>(histograms.iteration_tokens.count());
  signals.iteration_tokens_total = histograms.iteration_tokens.sum();
  signals.itl_seconds_sum = histograms.itl.sum();
  signals.itl_seconds_count = static_cast<double>(histograms.itl.count());
  signals.preemptions_total = static_cast<double>(total.preemptions);
  signals.kv_usage = engine.gauges().kv_usage;
  return signals;
}

}  // namespace loadline::sim

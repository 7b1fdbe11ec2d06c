"""Pairs of the architectures for text that `transformers` has in torch and in TensorFlow."""

from __future__ import annotations

from benchmarks.strangers import text_models as of
from benchmarks.strangers.hub import pair
from benchmarks.strangers.pair import Fault

_INTERMEDIATE = ("layer.0.intermediate", "layer_._0/intermediate")
_SELF = ("layer.0.attention.self", "layer_._0/attention/self")
_MLP = ("h.0.mlp", "h_._0/mlp")
_NORM = ("embeddings.LayerNorm", "embeddings/LayerNorm")
_NO_MASK = "the attention mask is not passed"

PAIRS = [
    pair("bert", of.BERT),
    pair("bert-12-layers", of.DEEP_BERT),
    pair("distilbert", of.DISTILBERT),
    pair("roberta", of.ROBERTA),
    pair("albert", of.ALBERT),
    pair("electra", of.ELECTRA),
    pair("gpt2", of.GPT2),
    pair("gpt2-8-layers", of.DEEP_GPT2),
    pair("gptj", of.GPTJ),
    pair("opt", of.OPT),
    pair("t5", of.T5),
    pair("t5-words", of.T5_WORDS),
    pair("bart", of.BART),
    pair("pegasus", of.PEGASUS),
    pair("marian", of.MARIAN),
    pair("mobilebert", of.MOBILEBERT),
    pair("deberta", of.DEBERTA),
    pair("deberta-v2", of.DEBERTA_2),
    pair("xlm", of.XLM),
    pair("xlnet", of.XLNET),
    pair("funnel", of.FUNNEL),
    pair("mpnet", of.MPNET),
    pair("esm", of.ESM),
    pair("layoutlm", of.LAYOUTLM),
    pair("roformer", of.ROFORMER),
    pair("clip-text", of.CLIP_TEXT),
    pair("longformer", of.LONGFORMER),
    pair(
        "bert-epsilon", of.BERT,
        Fault("layer_norm_eps is 1e-5, not 1e-12", ("norm-epsilon",), _NORM),
        {"layer_norm_eps": 1e-5},
    ),
    pair(
        "bert-12-layers-epsilon", of.DEEP_BERT,
        Fault("layer_norm_eps is 1e-3, not 1e-12", ("norm-epsilon",), _NORM),
        {"layer_norm_eps": 1e-3},
    ),
    pair(
        "bert-gelu", of.BERT,
        Fault("hidden_act is gelu_new, not gelu", ("gelu-variant",), _INTERMEDIATE),
        {"hidden_act": "gelu_new"},
    ),
    pair(
        "bert-no-mask", of.BERT,
        Fault(_NO_MASK, ("attention-mask-missing", "sequence-mask"), _SELF),
        without=("attention_mask",),
    ),
    pair(
        "bert-causal", of.BERT,
        Fault(
            "is_decoder is True: each step sees those before it alone",
            # both models make the mask of all layers once, in front of the first
            ("attention-mask-missing",), ("modeling_attn_mask_utils.py",),
        ),
        {"is_decoder": True, "use_cache": False},
    ),
    pair(
        "bert-heads", of.BERT,
        Fault("2 heads, not 4, over the same width", ("head-count",), _SELF),
        {"num_attention_heads": 2},
    ),
    pair(
        "bert-dropout", of.BERT,
        Fault("it runs in training mode", ("dropout-active",), ("embeddings",)), mode="train",
    ),
    pair(
        "roberta-own-positions", of.ROBERTA_0,
        Fault(
            "positions start behind pad_token_id, 0, in torch; TensorFlow takes it to be 1",
            ("position-ids",), ("embeddings",),
        ),
    ),
    pair(
        "distilbert-activation", of.DISTILBERT,
        Fault(
            "activation is relu, not gelu", ("activation-kind",), ("layer.0.ffn", "layer_._0/ffn")
        ),
        {"activation": "relu"},
    ),
    pair(
        "distilbert-no-mask", of.DISTILBERT,
        Fault(
            _NO_MASK, ("attention-mask-missing", "sequence-mask"),
            ("layer.0.attention", "layer_._0/attention"),
        ),
        without=("attention_mask",),
    ),
    pair(
        "albert-gelu", of.ALBERT,
        Fault(
            "hidden_act is gelu, not gelu_new", ("gelu-variant",),
            ("albert_layers.0", "albert_layers_._0"),
        ),
        {"hidden_act": "gelu"},
    ),
    pair(
        "electra-epsilon", of.ELECTRA,
        Fault("layer_norm_eps is 1e-3, not 1e-12", ("norm-epsilon",), _NORM),
        {"layer_norm_eps": 1e-3},
    ),
    pair(
        "gpt2-activation", of.GPT2,
        Fault("activation_function is relu, not gelu_new", ("activation-kind",), _MLP),
        {"activation_function": "relu"},
    ),
    pair(
        "gpt2-8-layers-gelu", of.DEEP_GPT2,
        Fault("activation_function is gelu, not gelu_new", ("gelu-variant",), _MLP),
        {"activation_function": "gelu"},
    ),
    pair(
        "gpt2-own-scale", of.GPT2_UNSCALED,
        Fault(
            "TensorFlow's model does not read scale_attn_weights, which is False",
            ("attention-scale",), ("h.0.attn", "h_._0/attn"),
        ),
    ),
    pair(
        "openai-gpt-own-gelu", of.GPT1,
        Fault(
            "torch's model takes the tanh form of gelu, TensorFlow's the exact one",
            ("gelu-variant",), _MLP,
        ),
    ),
    pair(
        "deberta-own-mask", of.PADDED_DEBERTA,
        Fault(
            "a step of the padding attends to all alike in torch, to nothing in TensorFlow",
            ("op-extra", "op-missing"), _SELF,
        ),
    ),
    pair(
        "deberta-v2-own-mask", of.PADDED_DEBERTA_2,
        Fault(
            "a step of the padding attends to all alike in torch, to nothing in TensorFlow",
            ("op-extra", "op-missing"), _SELF,
        ),
    ),
    pair(
        "gptj-rotary", of.GPTJ,
        Fault("rotary_dim is 8, not 4", ("rotary-parameters",), ("h.0.attn", "h_._0/attn")),
        {"rotary_dim": 8},
    ),
    pair(
        "opt-activation", of.OPT,
        Fault("activation_function is gelu, not relu", ("activation-kind",), ("layers.0",)),
        {"activation_function": "gelu"},
    ),
    pair(
        "t5-epsilon", of.T5,
        Fault(
            "layer_norm_epsilon is 1e-3, not 1e-6", ("norm-epsilon",),
            ("block.0.layer.0.layer_norm", "block_._0/layer_._0/layer_norm"),
        ),
        {"layer_norm_epsilon": 1e-3},
    ),
    pair(
        "t5-tied", of.T5_WORDS,
        Fault(
            "tie_word_embeddings is False: states are not scaled before the last product",
            ("op-missing",), ("lm_head", "multiply", "scale"),
        ),
        {"tie_word_embeddings": False},
    ),
    pair(
        "bart-scale", of.BART,
        Fault(
            "scale_embedding is True: embeddings times the root of the width",
            ("op-extra", "weight-scale"), ("embed_tokens", "encoder", "shared"),
        ),
        {"scale_embedding": True},
    ),
    pair(
        "bart-no-mask", of.BART,
        Fault(
            _NO_MASK, ("attention-mask-missing", "sequence-mask"),
            ("encoder.layers.0.self_attn", "encoder/layers.0/self_attn"),
        ),
        without=("attention_mask",),
    ),
    pair(
        "mobilebert-activation", of.MOBILEBERT,
        Fault("hidden_act is gelu, not relu", ("activation-kind",), ("intermediate",)),
        {"hidden_act": "gelu"},
    ),
    pair(
        "xlm-activation", of.XLM,
        Fault("gelu_activation is False", ("activation-kind",), ("ffns.0", "ffns_._0")),
        {"gelu_activation": False},
    ),
    pair(
        "funnel-pooling", of.FUNNEL,
        Fault(
            "pooling_type is max, not mean", ("reduction-kind",), ("encoder", "pool"),
        ),
        {"pooling_type": "max"},
    ),
    pair(
        "roformer-values", of.ROFORMER,
        Fault("rotary_value is True: values are rotated, too", ("op-extra",), _SELF),
        {"rotary_value": True},
    ),
    pair(
        "esm-own-mask", of.PADDED_ESM,
        Fault(
            "embeddings of the padding are zero in TensorFlow alone", ("op-extra", "sequence-mask"),
            ("embeddings",),
        ),
    ),
    pair(
        "esm-dropout-scale", of.ESM,
        Fault(
            "token_dropout is False: embeddings are not scaled for masked words",
            ("op-missing", "weight-scale"), ("embeddings",),
        ),
        {"token_dropout": False},
    ),
    pair(
        "clip-text-activation", of.CLIP_TEXT,
        Fault("hidden_act is gelu, not quick_gelu", ("gelu-variant", "activation-kind"),
              ("layers.0.mlp", "layers_._0/mlp")),
        {"hidden_act": "gelu"},
    ),
]  # fmt: skip

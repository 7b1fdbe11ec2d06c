"""Architectures for text that `transformers` has in torch and in TensorFlow, and their inputs."""

from __future__ import annotations

from typing import Any

from benchmarks.strangers.hub import SEED, Architecture

_WORDS, _ROWS, _STEPS = 67, 2, 9
_BERT = {
    "vocab_size": _WORDS,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": 40,
    "initializer_range": 0.15,
}
_BART = {
    "vocab_size": _WORDS,
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 48,
    "max_position_embeddings": 40,
    "init_std": 0.15,
    "use_cache": False,
    "pad_token_id": 1,
    "decoder_start_token_id": 2,
}
_GPT2 = {
    "vocab_size": _WORDS,
    "n_positions": 40,
    "n_embd": 32,
    "n_layer": 2,
    "n_head": 4,
    "initializer_range": 0.15,
    "use_cache": False,
}
_T5 = {
    "vocab_size": _WORDS,
    "d_model": 32,
    "d_kv": 8,
    "d_ff": 48,
    "num_layers": 2,
    "num_heads": 4,
    "use_cache": False,
    "decoder_start_token_id": 0,
}
_XLM = {
    "n_words": _WORDS,
    "emb_dim": 32,
    "n_layers": 2,
    "n_heads": 4,
    "max_position_embeddings": 40,
    "embed_init_std": 0.15,
    "init_std": 0.15,
}


def tokens() -> dict[str, Any]:
    """Words, of which the second row has fewer."""
    import numpy as np

    words = np.random.default_rng(SEED).integers(5, _WORDS, (_ROWS, _STEPS))
    mask = np.ones((_ROWS, _STEPS), "int64")
    mask[1, 6:] = 0
    return {"input_ids": words, "attention_mask": mask}


def words() -> dict[str, Any]:
    return {"input_ids": tokens()["input_ids"]}


def masked() -> dict[str, Any]:
    """Words, some of them hidden behind the mask's own word, 4."""
    found = words()["input_ids"]
    found[[0, 1, 1], [2, 7, 8]] = 4
    return {"input_ids": found}


def both() -> dict[str, Any]:
    """For an encoder and a decoder."""
    return {**tokens(), "decoder_input_ids": tokens()["input_ids"][:, :5]}


def boxes() -> dict[str, Any]:
    import numpy as np

    corners = np.random.default_rng(SEED).integers(0, 40, (_ROWS, _STEPS, 2))
    sizes = np.random.default_rng(SEED + 1).integers(1, 20, (_ROWS, _STEPS, 2))
    return {**tokens(), "bbox": np.concatenate([corners, corners + sizes], 2)}


BERT = Architecture("Bert", _BERT, tokens)
DEEP_BERT = Architecture("Bert", {**_BERT, "num_hidden_layers": 12}, tokens)
DISTILBERT = Architecture(
    "DistilBert",
    {"vocab_size": _WORDS, "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 48,
     "max_position_embeddings": 40, "initializer_range": 0.15},
    tokens,
)  # fmt: skip
ROBERTA = Architecture("Roberta", {**_BERT, "pad_token_id": 1}, tokens)
ROBERTA_0 = Architecture("Roberta", {**_BERT, "pad_token_id": 0}, tokens)
ALBERT = Architecture("Albert", {**_BERT, "embedding_size": 16}, tokens)
ELECTRA = Architecture("Electra", {**_BERT, "embedding_size": 16}, tokens)
GPT2 = Architecture("GPT2", _GPT2, words)
# torch reads it only where attention is written out.
GPT2_UNSCALED = Architecture(
    "GPT2", {**_GPT2, "scale_attn_weights": False, "attn_implementation": "eager"}, words
)
DEEP_GPT2 = Architecture("GPT2", {**_GPT2, "n_layer": 8}, words, "LMHeadModel")
GPT1 = Architecture(
    "OpenAIGPT", {key: _GPT2[key] for key in _GPT2 if key != "use_cache"}, words
)  # fmt: skip
GPTJ = Architecture("GPTJ", {**_GPT2, "rotary_dim": 4}, words)
OPT = Architecture(
    "OPT",
    {"vocab_size": _WORDS, "hidden_size": 32, "word_embed_proj_dim": 32, "num_hidden_layers": 2,
     "num_attention_heads": 4, "ffn_dim": 48, "max_position_embeddings": 40, "init_std": 0.15,
     "use_cache": False},
    tokens,
)  # fmt: skip
T5 = Architecture("T5", _T5, both)
T5_WORDS = Architecture("T5", _T5, both, "ForConditionalGeneration")
BART = Architecture("Bart", _BART, both)
PEGASUS = Architecture("Pegasus", {**_BART, "pad_token_id": 0}, both)
MARIAN = Architecture("Marian", {**_BART, "eos_token_id": 0}, both)
MOBILEBERT = Architecture(
    "MobileBert",
    {**_BERT, "embedding_size": 16, "intra_bottleneck_size": 16, "true_hidden_size": 16,
     "num_feedforward_networks": 2},
    tokens,
)  # fmt: skip
_DEBERTA = {**_BERT, "relative_attention": True, "pos_att_type": ["c2p", "p2c"]}
_DEBERTA_1 = {**_DEBERTA, "max_relative_positions": 12}
_DEBERTA_2 = {
    **_DEBERTA,
    "position_buckets": 6,
    "norm_rel_ebd": "layer_norm",
    "share_att_key": True,
}
# Without padding: the two differ in what a step of the padding attends to.
DEBERTA = Architecture("Deberta", _DEBERTA_1, words)
PADDED_DEBERTA = Architecture("Deberta", _DEBERTA_1, tokens)
DEBERTA_2 = Architecture("DebertaV2", _DEBERTA_2, words)
PADDED_DEBERTA_2 = Architecture("DebertaV2", _DEBERTA_2, tokens)
XLM = Architecture("XLM", _XLM, tokens)
XLNET = Architecture(
    "XLNet",
    {"vocab_size": _WORDS, "d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 48,
     "initializer_range": 0.15, "use_mems_eval": False, "use_mems_train": False},
    tokens,
)  # fmt: skip
FUNNEL = Architecture(
    "Funnel",
    {"vocab_size": _WORDS, "block_sizes": [1, 1], "num_decoder_layers": 1, "d_model": 32,
     "n_head": 4, "d_head": 8, "d_inner": 48, "initializer_std": 0.15},
    tokens,
)  # fmt: skip
MPNET = Architecture("MPNet", _BERT, tokens)
_ESM = {
    **_BERT,
    "pad_token_id": 1,
    "mask_token_id": 4,
    "position_embedding_type": "absolute",
    "emb_layer_norm_before": True,
    "token_dropout": True,
}
# Without padding: torch's model does not pass the mask on to its embeddings, TensorFlow's does.
ESM = Architecture("Esm", _ESM, masked)
PADDED_ESM = Architecture("Esm", _ESM, tokens)
LAYOUTLM = Architecture("LayoutLM", {**_BERT, "max_2d_position_embeddings": 64}, boxes)
ROFORMER = Architecture("RoFormer", {**_BERT, "embedding_size": 16}, tokens)
CLIP_TEXT = Architecture(
    "CLIPText", {**_BERT, "projection_dim": 16, "eos_token_id": 66, "bos_token_id": 3}, tokens
)
LONGFORMER = Architecture(
    "Longformer", {**_BERT, "attention_window": [8, 8], "pad_token_id": 1}, tokens
)

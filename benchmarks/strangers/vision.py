"""Models of images and of sound that `transformers` has in torch and in TensorFlow.

Both take channels first; TensorFlow's transpose them inside.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.strangers.hub import SEED, Architecture, pair
from benchmarks.strangers.pair import Fault

_VIT = {
    "image_size": 32,
    "patch_size": 8,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "initializer_range": 0.15,
}
_STAGES = {"hidden_sizes": [16, 24], "depths": [1, 2], "embedding_size": 8}
_SOUND = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "conv_dim": (16, 16),
    "conv_stride": (5, 2),
    "conv_kernel": (10, 3),
    "num_feat_extract_layers": 2,
    "num_conv_pos_embeddings": 16,
    "num_conv_pos_embedding_groups": 4,
    "apply_spec_augment": False,
    "initializer_range": 0.15,
}


def _images(size: int = 32) -> dict[str, Any]:
    import numpy as np

    values = np.random.default_rng(SEED).normal(size=(2, 3, size, size))
    return {"pixel_values": values.astype("float32")}


def _waves() -> dict[str, Any]:
    import numpy as np

    return {"input_values": np.random.default_rng(SEED).normal(size=(2, 400)).astype("float32")}


def _speech() -> dict[str, Any]:
    import numpy as np

    draw = np.random.default_rng(SEED)
    features = draw.normal(size=(2, 8, 40)).astype("float32")
    return {"input_features": features, "decoder_input_ids": draw.integers(5, 60, (2, 6))}


def _of_size(size: int) -> Callable[[], dict[str, Any]]:
    return partial(_images, size)


VIT = Architecture("ViT", _VIT, _images)
DEEP_VIT = Architecture("ViT", {**_VIT, "num_hidden_layers": 8}, _images)
DEIT = Architecture("DeiT", _VIT, _images)
SWIN = Architecture(
    "Swin",
    {"image_size": 32, "patch_size": 4, "embed_dim": 16, "depths": [2, 2], "num_heads": [2, 4],
     "window_size": 4, "initializer_range": 0.15},
    _images,
)  # fmt: skip
CONVNEXT = Architecture(
    "ConvNext",
    {"hidden_sizes": [16, 24], "depths": [1, 2], "num_stages": 2, "initializer_range": 0.15,
     "layer_scale_init_value": 0.3},
    _images,
)  # fmt: skip
CONVNEXT_2 = Architecture(
    "ConvNextV2",
    {"hidden_sizes": [16, 24], "depths": [1, 2], "num_stages": 2, "initializer_range": 0.15},
    _images,
)
REGNET = Architecture("RegNet", {**_STAGES, "groups_width": 8}, _images)
RESNET = Architecture("ResNet", _STAGES, _images)
CVT = Architecture(
    "Cvt",
    # Three stages: its TensorFlow class counts on them, and asks for the size of the images, which
    # its configuration lacks. Of a stage's rates of dropped paths, one per block, torch's class
    # reads that with the stage's own number: each stage has more blocks than stages come before it.
    {"image_size": 32, "embed_dim": [16, 24, 32], "num_heads": [1, 2, 2],
     "depth": [1, 2, 3], "drop_path_rate": [0.0, 0.0, 0.0]},
    _images,
)  # fmt: skip
DATA2VEC = Architecture("Data2VecVision", {**_VIT, "out_indices": [0, 1]}, _images)
SEGFORMER = Architecture(
    "Segformer",
    {"num_encoder_blocks": 2, "depths": [1, 1], "sr_ratios": [4, 2], "hidden_sizes": [16, 24],
     "patch_sizes": [7, 3], "strides": [4, 2], "num_attention_heads": [1, 2],
     "mlp_ratios": [2, 2], "initializer_range": 0.15},
    _images,
)  # fmt: skip
MOBILEVIT = Architecture(
    "MobileViT",
    {"image_size": 64, "hidden_sizes": [16, 24, 32], "num_attention_heads": 2,
     "neck_hidden_sizes": [8, 8, 12, 16, 16, 16, 24]},
    _of_size(64),
)  # fmt: skip
CLIP_VISION = Architecture("CLIPVision", {**_VIT, "projection_dim": 16}, _images)
WAV2VEC2 = Architecture("Wav2Vec2", _SOUND, _waves)
HUBERT = Architecture("Hubert", _SOUND, _waves)
WHISPER = Architecture(
    "Whisper",
    {"vocab_size": 67, "num_mel_bins": 8, "encoder_layers": 2, "encoder_attention_heads": 4,
     "decoder_layers": 2, "decoder_attention_heads": 4, "decoder_ffn_dim": 48,
     "encoder_ffn_dim": 48, "d_model": 32, "max_source_positions": 20, "max_target_positions": 16,
     "pad_token_id": 1, "bos_token_id": 2, "eos_token_id": 2, "decoder_start_token_id": 3,
     "init_std": 0.15, "use_cache": False},
    _speech,
)  # fmt: skip

_FIRST_MLP = ("encoder.layer.0.intermediate", "encoder/layer_._0/intermediate")

PAIRS = [
    pair("vit", VIT),
    pair("vit-8-layers", DEEP_VIT),
    pair("deit", DEIT),
    pair("swin", SWIN),
    pair("convnext", CONVNEXT),
    pair("convnextv2", CONVNEXT_2),
    pair("regnet", REGNET),
    pair("resnet", RESNET),
    pair("cvt", CVT),
    pair("data2vec-vision", DATA2VEC),
    pair("segformer", SEGFORMER),
    pair("mobilevit", MOBILEVIT),
    pair("clip-vision", CLIP_VISION),
    pair("wav2vec2", WAV2VEC2),
    pair("hubert", HUBERT),
    pair("whisper", WHISPER),
    pair(
        "vit-epsilon", VIT,
        Fault(
            "layer_norm_eps is 1e-3, not 1e-12", ("norm-epsilon",),
            ("layer.0.layernorm_before", "layer_._0/layernorm_before"),
        ),
        {"layer_norm_eps": 1e-3},
    ),
    pair(
        "vit-8-layers-gelu", DEEP_VIT,
        Fault("hidden_act is gelu_new, not gelu", ("gelu-variant",), _FIRST_MLP),
        {"hidden_act": "gelu_new"},
    ),
    pair(
        "deit-activation", DEIT,
        Fault("hidden_act is silu, not gelu", ("activation-kind",), _FIRST_MLP),
        {"hidden_act": "silu"},
    ),
    pair(
        "swin-epsilon", SWIN,
        Fault(
            "layer_norm_eps is 1e-3, not 1e-5, but for the first norm, which reads none",
            ("norm-epsilon",), ("layernorm_before",),
        ),
        {"layer_norm_eps": 1e-3},
    ),
    pair(
        "convnext-gelu", CONVNEXT,
        Fault("hidden_act is gelu_new, not gelu", ("gelu-variant",), ("stages.0",)),
        {"hidden_act": "gelu_new"},
    ),
    pair(
        "resnet-activation", RESNET,
        Fault("hidden_act is silu, not relu", ("activation-kind",), ("embedder",)),
        {"hidden_act": "silu"},
    ),
    pair(
        "clip-vision-activation", CLIP_VISION,
        Fault(
            "hidden_act is gelu, not quick_gelu", ("gelu-variant", "activation-kind"),
            ("layers.0.mlp", "layers_._0/mlp"),
        ),
        {"hidden_act": "gelu"},
    ),
    pair(
        "wav2vec2-activation", WAV2VEC2,
        Fault(
            "feat_extract_activation is relu, not gelu", ("activation-kind",),
            ("feature_extractor.conv_layers.0", "feature_extractor/conv_layers.0"),
        ),
        {"feat_extract_activation": "relu"},
    ),
    pair(
        "whisper-activation", WHISPER,
        Fault(
            "activation_function is relu, not gelu", ("activation-kind",),
            ("encoder.layers.0", "encoder/layers.0"),
        ),
        {"activation_function": "relu"},
    ),
]  # fmt: skip

import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
D, HEADS, T = 24, 4, 5


def dense(units, name, **kw):
    return layers.Dense(units, name=name, bias_initializer=keras.initializers.RandomNormal(stddev=0.1), **kw)


def norm(name):
    return layers.LayerNormalization(epsilon=1e-5, name=name)


def transformer_block(x, mask, name):
    y = norm(f"{name}_ln1")(x)
    attention = layers.MultiHeadAttention(HEADS, D // HEADS, name=f"{name}_mha")
    x = layers.Add()([x, attention(y, y, attention_mask=mask)])
    y = norm(f"{name}_ln2")(x)
    y = dense(2 * D, f"{name}_up")(y)
    y = ops.gelu(y, approximate=True)
    return layers.Add()([x, dense(D, f"{name}_down")(y)])


def make():
    keras.utils.set_random_seed(1)
    states = keras.Input((T, 7), name="states")
    actions = keras.Input((T, 3), name="actions")
    rtg = keras.Input((T, 1), name="returns_to_go")
    timesteps = keras.Input((T,), dtype="int64", name="timesteps")
    padding = keras.Input((T,), dtype="int64", name="attention_mask")

    time = layers.Embedding(40, D, name="time")(timesteps)
    tokens = [
        dense(D, "embed_return")(rtg) + time,
        dense(D, "embed_state")(states) + time,
        dense(D, "embed_action")(actions) + time,
    ]
    x = ops.reshape(ops.stack(tokens, axis=2), (-1, 3 * T, D))
    x = norm("embed_ln")(x)

    keys = ops.repeat(ops.cast(padding, "bool"), 3, axis=1)
    i = ops.arange(3 * T)
    lower = ops.expand_dims(i, 1) >= ops.expand_dims(i, 0)
    diagonal = ops.expand_dims(i, 1) == ops.expand_dims(i, 0)
    mask = ops.logical_or(ops.logical_and(lower, ops.expand_dims(keys, 1)), diagonal)
    for n in range(2):
        x = transformer_block(x, mask, f"block{n}")
    x = norm("final_ln")(x)

    after_state, after_action = x[:, 1::3], x[:, 2::3]
    return keras.Model(
        [states, actions, rtg, timesteps, padding],
        [
            dense(7, "state_head")(after_action),
            dense(3, "action_head", activation="tanh")(after_state),
            dense(1, "return_head")(after_action),
        ],
    )


def load(model, reference):
    value = lambda t: t.detach().numpy()

    def copy(name, theirs):
        if isinstance(model.get_layer(name), layers.Dense):
            model.get_layer(name).set_weights([value(theirs.weight).T, value(theirs.bias)])
        else:
            model.get_layer(name).set_weights([value(theirs.weight), value(theirs.bias)])

    copy("embed_return", reference.embed_return)
    copy("embed_state", reference.embed_state)
    copy("embed_action", reference.embed_action)
    model.get_layer("time").set_weights([value(reference.embed_timestep.weight)])
    copy("embed_ln", reference.embed_ln)
    copy("final_ln", reference.ln_f)
    copy("state_head", reference.predict_state)
    copy("action_head", reference.predict_action[0])
    copy("return_head", reference.predict_return)
    for n, block in enumerate(reference.blocks):
        copy(f"block{n}_ln1", block.ln_1)
        copy(f"block{n}_ln2", block.ln_2)
        copy(f"block{n}_up", block.mlp[0])
        copy(f"block{n}_down", block.mlp[2])
        kernel = value(block.attn.c_attn.weight).T.reshape(D, 3, HEADS, D // HEADS)
        bias = value(block.attn.c_attn.bias).reshape(3, HEADS, D // HEADS)
        weights = []
        for part in range(3):
            weights += [kernel[:, part], bias[part]]
        weights.append(value(block.attn.c_proj.weight).T.reshape(HEADS, D // HEADS, D))
        weights.append(value(block.attn.c_proj.bias))
        model.get_layer(f"block{n}_mha").set_weights(weights)

"""Decision Transformer in Keras 3."""
import keras
from keras import layers, ops

FRAMEWORK = "tensorflow"

HP = dict(
    state_dim=11,
    act_dim=3,
    width=32,
    depth=2,
    heads=4,
    max_ep_len=64,
)


def layer_norm(name):
    return layers.LayerNormalization(epsilon=1e-5, name=name)


class GPTBlock(layers.Layer):
    def __init__(self, width, heads, **kwargs):
        super().__init__(**kwargs)
        self.norm_attn = layer_norm("norm_attn")
        self.attn = layers.MultiHeadAttention(heads, width // heads, name="attn")
        self.norm_mlp = layer_norm("norm_mlp")
        self.expand = layers.Dense(4 * width, name="expand")
        self.project = layers.Dense(width, name="project")

    def build(self, shape):
        self.norm_attn.build(shape)
        self.attn.build(shape, shape)
        self.norm_mlp.build(shape)
        self.expand.build(shape)
        self.project.build((*shape[:-1], 4 * shape[-1]))
        self.built = True

    def call(self, x, attention_mask):
        y = self.norm_attn(x)
        x = x + self.attn(y, y, attention_mask=attention_mask)
        y = self.expand(self.norm_mlp(x))
        y = keras.activations.gelu(y, approximate=True)
        return x + self.project(y)


class DecisionTransformer(keras.Model):
    def __init__(self, hp, **kwargs):
        super().__init__(**kwargs)
        w = hp["width"]
        self.hp = hp
        self.time_table = layers.Embedding(hp["max_ep_len"], w, name="time_table")
        self.return_in = layers.Dense(w, name="return_in")
        self.state_in = layers.Dense(w, name="state_in")
        self.action_in = layers.Dense(w, name="action_in")
        self.norm_in = layer_norm("norm_in")
        self.stack = [GPTBlock(w, hp["heads"], name=f"block_{i}") for i in range(hp["depth"])]
        self.norm_out = layer_norm("norm_out")
        self.return_out = layers.Dense(1, name="return_out")
        self.state_out = layers.Dense(hp["state_dim"], name="state_out")
        self.action_out = layers.Dense(hp["act_dim"], activation="tanh", name="action_out")

    def build(self, _=None):
        w = self.hp["width"]
        self.time_table.build((None, None))
        self.return_in.build((None, None, 1))
        self.state_in.build((None, None, self.hp["state_dim"]))
        self.action_in.build((None, None, self.hp["act_dim"]))
        for layer in (self.norm_in, self.norm_out, *self.stack):
            layer.build((None, None, w))
        for head in (self.return_out, self.state_out, self.action_out):
            head.build((None, None, w))
        self.built = True

    def attention_mask(self, mask):
        # one row of the mask per token, three tokens per step
        tokens = ops.repeat(ops.cast(mask, "bool"), 3, axis=1)
        n = ops.shape(tokens)[1]
        index = ops.arange(n)
        causal = index[:, None] >= index[None, :]
        return ops.logical_and(causal[None], tokens[:, None, :])

    def call(self, states, actions, returns_to_go, timesteps, mask):
        batch, steps = ops.shape(states)[0], ops.shape(states)[1]
        width = self.hp["width"]
        when = self.time_table(timesteps)
        r = self.return_in(returns_to_go) + when
        s = self.state_in(states) + when
        a = self.action_in(actions) + when

        x = ops.reshape(ops.stack([r, s, a], axis=2), (batch, 3 * steps, width))
        x = self.norm_in(x)
        allowed = self.attention_mask(mask)
        for block in self.stack:
            x = block(x, allowed)
        x = self.norm_out(x)

        x = ops.reshape(x, (batch, steps, 3, width))
        from_state, from_action = x[:, :, 1], x[:, :, 2]
        keep = ops.cast(mask, x.dtype)[..., None]
        return (
            self.state_out(from_action) * keep,
            self.action_out(from_state) * keep,
            self.return_out(from_action) * keep,
        )


def make(seed=50):
    keras.utils.set_random_seed(seed)
    model = DecisionTransformer(HP)
    model.build()
    return model


def array(p):
    return p.detach().cpu().numpy()


def set_dense(layer, linear):
    layer.set_weights([array(linear.weight).T, array(linear.bias)])


def set_norm(layer, norm):
    layer.set_weights([array(norm.weight), array(norm.bias)])


def set_attention(layer, attn, heads):
    kernel = array(attn.c_attn.weight).T
    bias = array(attn.c_attn.bias)
    width = kernel.shape[0]
    weights = []
    for part in range(3):
        cols = slice(part * width, (part + 1) * width)
        weights.append(kernel[:, cols].reshape(width, heads, -1))
        weights.append(bias[cols].reshape(heads, -1))
    weights.append(array(attn.c_proj.weight).T.reshape(heads, -1, width))
    weights.append(array(attn.c_proj.bias))
    for variable, value in zip(
        (
            layer.query_dense.kernel, layer.query_dense.bias,
            layer.key_dense.kernel, layer.key_dense.bias,
            layer.value_dense.kernel, layer.value_dense.bias,
            layer.output_dense.kernel, layer.output_dense.bias,
        ),
        weights,
        strict=True,
    ):
        variable.assign(value)


def load(model, reference):
    model.time_table.set_weights([array(reference.embed_timestep.weight)])
    set_dense(model.return_in, reference.embed_return)
    set_dense(model.state_in, reference.embed_state)
    set_dense(model.action_in, reference.embed_action)
    set_norm(model.norm_in, reference.embed_ln)
    set_norm(model.norm_out, reference.ln_f)
    for block, theirs in zip(model.stack, reference.blocks, strict=True):
        set_norm(block.norm_attn, theirs.ln_1)
        set_attention(block.attn, theirs.attn, model.hp["heads"])
        set_norm(block.norm_mlp, theirs.ln_2)
        set_dense(block.expand, theirs.c_fc)
        set_dense(block.project, theirs.c_proj)
    set_dense(model.return_out, reference.predict_return)
    set_dense(model.state_out, reference.predict_state)
    set_dense(model.action_out, reference.predict_action[0])

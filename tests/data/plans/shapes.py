#!/usr/bin/env python3
"""Writes the sample plans that lie beside it: what ten well-known models keep in memory, by
the shapes that their papers publish. A step is one operation; a tensor lives from the step
that makes it to the last that reads it, workspace for its one step. Training goes through the
steps again in reverse, so that activations wait for their gradient."""
import json
import math
import os


class Model:
    def __init__(self, comment, element_bytes, alignment):
        self.comment = comment
        self.element_bytes = element_bytes
        self.alignment = alignment
        self.now = 0
        self.tensors = []
        self.operations = []

    def tensor(self, name, elements):
        made = {"name": name, "size": math.ceil(elements * self.element_bytes),
                "start": self.now, "end": self.now + 1}
        self.tensors.append(made)
        return made

    def read(self, *tensors):
        for tensor in tensors:
            tensor["end"] = max(tensor["end"], self.now + 1)

    def input(self, name, *shape):
        return self.tensor(name, math.prod(shape))

    def step(self, name, shape, inputs, workspace=0, weights=0):
        """One operation that makes one tensor; sizes are in elements."""
        self.now += 1
        self.read(*inputs)
        if workspace:
            self.tensor(name + ".workspace", workspace)
        output = self.tensor(name, math.prod(shape))
        self.operations.append((name, inputs, output, workspace, weights))
        return output

    def train(self):
        """The way back. Gradients of weights wait for the optimizer, at the very end."""
        gradients, kept = {}, []
        last = self.operations[-1][2]
        gradients[id(last)] = self.step("loss.grad", [last["size"] / self.element_bytes], [last])
        for name, inputs, output, workspace, weights in reversed(self.operations[:-1]):
            self.now += 1
            self.read(output, *inputs, gradients[id(output)])
            if workspace:
                self.tensor(name + ".grad.workspace", workspace)
            if weights:
                kept.append(self.tensor(name + ".weight.grad", weights))
            for source in inputs:
                if id(source) not in gradients:
                    gradients[id(source)] = self.tensor(
                        source["name"] + ".grad", source["size"] / self.element_bytes)
                self.read(gradients[id(source)])
        self.now += 1
        self.read(*kept)

    def write(self, name):
        folder = os.path.dirname(os.path.abspath(__file__))
        with open(os.path.join(folder, name + ".json"), "w") as file:
            file.write('{"comment": %s,\n' % json.dumps(self.comment))
            file.write(' "spaces": [{"name": "device", "base": 0, '
                       '"largest_address": 281474976710655, "unit": 2097152}],\n')
            file.write(' "buffers": [\n')
            rows = [json.dumps({"name": one["name"], "size": one["size"],
                                "alignment": self.alignment, "start": one["start"],
                                "end": one["end"], "space": "device"})
                    for one in self.tensors]
            file.write("  " + ",\n  ".join(rows) + "]}\n")


def resnet50():
    model = Model("ResNet-50, inference, batch 8, 224 x 224, float32: one activation for each "
                  "convolution with its activation function, one for each residual sum", 4, 256)
    batch, side = 8, 112
    x = model.step("conv1", [batch, 64, side, side], [model.input("image", batch, 3, 224, 224)],
                   workspace=batch * 147 * side)
    side = 56
    x = model.step("pool1", [batch, 64, side, side], [x])
    for stage, (blocks, width) in enumerate([(3, 64), (4, 128), (6, 256), (3, 512)], 2):
        for block in range(blocks):
            name = f"conv{stage}_{block + 1}"
            shortcut = x
            y = model.step(name + "_a", [batch, width, side, side], [x])
            if block == 0 and stage > 2:
                side //= 2
            y = model.step(name + "_b", [batch, width, side, side], [y],
                           workspace=batch * width * 9 * side)
            y = model.step(name + "_c", [batch, 4 * width, side, side], [y])
            if block == 0:
                shortcut = model.step(name + "_down", [batch, 4 * width, side, side], [x])
            x = model.step(name + "_sum", [batch, 4 * width, side, side], [y, shortcut])
    x = model.step("pool5", [batch, 2048], [x])
    model.step("fc", [batch, 1000], [x])
    return model


def attention(model, name, x, batch, tokens, width, heads, context=None, keep=None):
    """Self-attention, or cross-attention over `context` = (tensor, tokens)."""
    other, other_tokens = context or (x, tokens)
    q = model.step(name + ".q", [batch, tokens, width], [x], weights=width * width)
    k = model.step(name + ".k", [batch, other_tokens, width], [other], weights=width * width)
    v = model.step(name + ".v", [batch, other_tokens, width], [other], weights=width * width)
    if keep is not None:
        keep += [k, v]
    scores = model.step(name + ".scores", [batch, heads, tokens, other_tokens], [q, k])
    shares = model.step(name + ".softmax", [batch, heads, tokens, other_tokens], [scores])
    mixed = model.step(name + ".mix", [batch, tokens, width], [shares, v])
    return model.step(name + ".out", [batch, tokens, width], [mixed], weights=width * width)


def transformer_layer(model, name, x, batch, tokens, width, heads, keep=None):
    normal = model.step(name + ".norm1", [batch, tokens, width], [x])
    y = attention(model, name + ".attention", normal, batch, tokens, width, heads, keep=keep)
    x = model.step(name + ".sum1", [batch, tokens, width], [x, y])
    normal = model.step(name + ".norm2", [batch, tokens, width], [x])
    y = model.step(name + ".up", [batch, tokens, 4 * width], [normal], weights=4 * width ** 2)
    y = model.step(name + ".gelu", [batch, tokens, 4 * width], [y])
    y = model.step(name + ".down", [batch, tokens, width], [y], weights=4 * width ** 2)
    return model.step(name + ".sum2", [batch, tokens, width], [x, y])


def bert_base_layer():
    model = Model("one layer of BERT-base, training, batch 32, 128 tokens, float32: forward, "
                  "backward, and weight gradients that wait for the optimizer", 4, 512)
    x = model.input("hidden", 32, 128, 768)
    transformer_layer(model, "layer", x, 32, 128, 768, 12)
    model.train()
    return model


def gpt2_small():
    model = Model("GPT-2 small, prompt of 1024 tokens, float16: keys and values of every layer "
                  "stay for the tokens that follow", 2, 256)
    kept = []
    x = model.step("embedding", [1024, 768], [model.input("tokens", 1024, 4)])
    for layer in range(12):
        x = transformer_layer(model, f"h{layer}", x, 1, 1024, 768, 12, keep=kept)
    x = model.step("norm", [1024, 768], [x])
    model.step("logits", [1024, 50257], [x])
    model.now += 1
    model.read(*kept)
    return model


def unet():
    model = Model("U-Net as published: 572 x 572, unpadded convolutions, float32; what the way "
                  "down makes waits for the way up", 4, 256)
    side, x, skips = 572, model.input("image", 572, 572), []

    def convolutions(name, x, width):
        nonlocal side
        for part in "ab":
            side -= 2
            x = model.step(name + part, [width, side, side], [x], workspace=9 * width * side)
        return x

    for level, width in enumerate([64, 128, 256, 512]):
        x = convolutions(f"down{level}", x, width)
        skips.append((x, width))
        side //= 2
        x = model.step(f"pool{level}", [width, side, side], [x])
    x = convolutions("bottom", x, 1024)
    for level, (skip, width) in reversed(list(enumerate(skips))):
        side *= 2
        x = model.step(f"up{level}", [width, side, side], [x])
        x = model.step(f"joined{level}", [2 * width, side, side], [x, skip])
        x = convolutions(f"up{level}", x, width)
    model.step("classes", [2, side, side], [x])
    return model


def mobilenet_v2():
    model = Model("MobileNetV2, inference, batch 1, 224 x 224, one byte for each value", 1, 64)
    side = 112
    x = model.step("conv1", [32, side, side], [model.input("image", 3, 224, 224)])
    width = 32
    for stage, (expand, out, repeats, stride) in enumerate(
            [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
             (6, 160, 3, 2), (6, 320, 1, 1)]):
        for block in range(repeats):
            name = f"block{stage}_{block}"
            y = x
            if expand > 1:
                y = model.step(name + ".expand", [expand * width, side, side], [x])
            if block == 0:
                side //= stride
            y = model.step(name + ".depthwise", [expand * width, side, side], [y])
            y = model.step(name + ".project", [out, side, side], [y])
            x = model.step(name + ".sum", [out, side, side], [x, y]) if block else y
            width = out
    x = model.step("conv2", [1280, side, side], [x])
    x = model.step("pool", [1280], [x])
    model.step("classes", [1001], [x])
    return model


def lstm():
    model = Model("LSTM language model, 2 layers of 650, 35 steps of 20 sequences, training, "
                  "float32: unrolled, so every step's gates wait for the way back", 4, 256)
    batch, width, layers = 20, 650, 2
    hidden = [model.input(f"h{layer}", batch, width) for layer in range(layers)]
    cell = [model.input(f"c{layer}", batch, width) for layer in range(layers)]
    tops = []
    for moment in range(35):
        x = model.step(f"embed{moment}", [batch, width], [hidden[0]])
        for layer in range(layers):
            name = f"t{moment}.l{layer}"
            gates = model.step(name + ".gates", [batch, 4 * width], [x, hidden[layer]])
            cell[layer] = model.step(name + ".c", [batch, width], [gates, cell[layer]])
            hidden[layer] = model.step(name + ".h", [batch, width], [gates, cell[layer]])
            x = hidden[layer]
        tops.append(x)
    top = model.step("tops", [35, batch, width], tops)
    model.step("logits", [35, batch, 10000], [top], weights=width * 10000)
    model.train()
    return model


def vgg16():
    model = Model("VGG-16, training, batch 16, 224 x 224, float32: forward, backward, and weight "
                  "gradients that wait for the optimizer", 4, 512)
    batch, side, depth = 16, 224, 3
    x = model.input("image", batch, 3, side, side)
    for stage, (width, repeats) in enumerate([(64, 2), (128, 2), (256, 3), (512, 3), (512, 3)]):
        for part in range(repeats):
            x = model.step(f"conv{stage}_{part}", [batch, width, side, side], [x],
                           workspace=depth * 9 * side * side, weights=depth * width * 9)
            depth = width
        side //= 2
        x = model.step(f"pool{stage}", [batch, width, side, side], [x])
    inputs = 512 * 7 * 7
    for name, width in [("fc6", 4096), ("fc7", 4096), ("fc8", 1000)]:
        x = model.step(name, [batch, width], [x], weights=inputs * width)
        inputs = width
    model.train()
    return model


def vit_base():
    model = Model("ViT-B/16, inference, batch 8, 197 tokens, float16", 2, 256)
    x = model.step("patches", [8, 197, 768], [model.input("image", 8, 3, 224, 224)])
    for layer in range(12):
        x = transformer_layer(model, f"h{layer}", x, 8, 197, 768, 12)
    x = model.step("norm", [8, 197, 768], [x])
    model.step("classes", [8, 1000], [x])
    return model


def dlrm_mlp():
    model = Model("DLRM, training, batch 2048, 26 embeddings of 64, float32: both perceptrons, "
                  "the interaction, and weight gradients that wait for the optimizer", 4, 256)
    batch = 2048

    def perceptron(name, x, width, widths):
        for layer, out in enumerate(widths):
            x = model.step(f"{name}{layer}", [batch, out], [x], weights=width * out)
            x = model.step(f"{name}{layer}.relu", [batch, out], [x])
            width = out
        return x

    indices = model.input("indices", batch, 26)
    dense = perceptron("bottom", model.input("dense", batch, 13), 13, [512, 256, 64])
    rows = [model.step(f"embedding{table}", [batch, 64], [indices]) for table in range(26)]
    pairs = model.step("interaction", [batch, 27 * 26 // 2], [dense] + rows,
                       workspace=batch * 27 * 27)
    joined = model.step("joined", [batch, 64 + 27 * 26 // 2], [dense, pairs])
    perceptron("top", joined, 64 + 27 * 26 // 2, [512, 256, 1])
    model.train()
    return model


def diffusion_block():
    model = Model("the first level of a latent diffusion U-Net, 64 x 64 x 320, batch 2, float16: "
                  "two residual blocks with a transformer each, down, and what waits for the way "
                  "up", 2, 256)
    batch, tokens, width = 2, 64 * 64, 320
    shape = [batch, tokens, width]
    moment, text = model.input("moment", batch, 1280), model.input("text", batch, 77, 768)
    x = model.step("conv_in", shape, [model.input("latent", batch, 4, tokens)])
    skips = [x]
    for block in range(2):
        name = f"block{block}"
        y = model.step(name + ".norm1", shape, [x])
        y = model.step(name + ".conv1", shape, [y], workspace=9 * width * 64)
        shift = model.step(name + ".moment", [batch, width], [moment])
        y = model.step(name + ".shifted", shape, [y, shift])
        y = model.step(name + ".norm2", shape, [y])
        y = model.step(name + ".conv2", shape, [y], workspace=9 * width * 64)
        x = model.step(name + ".sum", shape, [x, y])
        inner = model.step(name + ".in", shape, [x])
        y = attention(model, name + ".self", inner, batch, tokens, width, 8)
        inner = model.step(name + ".sum1", shape, [inner, y])
        y = attention(model, name + ".cross", inner, batch, tokens, width, 8, (text, 77))
        inner = model.step(name + ".sum2", shape, [inner, y])
        y = model.step(name + ".geglu", [batch, tokens, 8 * width], [inner])
        y = model.step(name + ".gated", [batch, tokens, 4 * width], [y])
        y = model.step(name + ".down", shape, [y])
        inner = model.step(name + ".sum3", shape, [inner, y])
        x = model.step(name + ".result", shape, [x, inner])
        skips.append(x)
    model.step("down", [batch, tokens // 4, width], [x])
    model.now += 1
    model.read(*skips)
    return model


if __name__ == "__main__":
    for build in [resnet50, bert_base_layer, gpt2_small, unet, mobilenet_v2, lstm, vgg16,
                  vit_base, dlrm_mlp, diffusion_block]:
        build().write(build.__name__)
